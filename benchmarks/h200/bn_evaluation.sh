#!/usr/bin/env bash
# A short training on the paper's 200,000 random networks, then the full protocol of Table 1 (20,000 x 100), timed:
#   bash benchmarks/h200/bn_evaluation.sh FOLDER EPOCHS
set -uo pipefail
folder=${1:?a folder for the results}
run=/tmp/runs/asia
mkdir -p "$folder"
export PYTHONPATH=src PYTHONUNBUFFERED=1
python3 -m dvae train --task asia --run "$run" --device cuda --epochs "${2:-20}" --json >/dev/null
time python3 -m dvae evaluate "$run" --device cuda
for name in training.json evaluation.json; do
    cp "$run/$name" "$folder/asia_$name"
done
