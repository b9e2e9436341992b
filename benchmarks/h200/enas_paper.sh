#!/usr/bin/env bash
# D-VAE on the paper's architectures, the paper's 300 epochs at batch 32, and its row of Table 1:
#   bash benchmarks/h200/enas_paper.sh FOLDER original|paper
# DVAE_DATA holds enas/final_structures6.txt.
set -uo pipefail
folder=${1:?a folder for the results}
preset=${2:?original (noise of 0.01 deviations) or paper (full posterior noise)}
run=/tmp/runs/enas6_$preset
mkdir -p "$folder"
export PYTHONPATH=src PYTHONUNBUFFERED=1
python3 -m dvae train --task enas6 --preset "$preset" --run "$run" --device cuda --json >/dev/null
python3 -m dvae evaluate "$run" --device cuda
for name in metrics.csv training.json evaluation.json; do
    cp "$run/$name" "$folder/enas6_${preset}_$name"
done
