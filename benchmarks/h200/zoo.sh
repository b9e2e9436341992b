#!/usr/bin/env bash
# Throughput of every model on a CUDA device: bash benchmarks/h200/zoo.sh FOLDER
set -uo pipefail
folder=${1:?a folder for the results}
mkdir -p "$folder"
export PYTHONPATH=src
for pair in "enas6 32" "asia 128"; do
    set -- $pair
    for model in dvae dvae-smp dvae-fast svae graphrnn gcn dagnn pace deepgmg; do
        python3 benchmarks/throughput.py --device cuda --task "$1" --model $model --batch "$2" --precision tf32 \
            --seconds 0.5 --encode 8192 --decode 8192 --json
    done >"$folder/zoo_$1.json"
done
