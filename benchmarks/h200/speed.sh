#!/usr/bin/env bash
# Throughput of D-VAE on a CUDA device, one process a batch size: bash benchmarks/h200/speed.sh FOLDER
set -uo pipefail
folder=${1:?a folder for the results}
mkdir -p "$folder"
export PYTHONPATH=src
for batch in 32 512 8192 16384; do
    python3 benchmarks/throughput.py --device cuda --task enas6 --batch $batch --precision tf32 --seconds 1 --json
done >"$folder/throughput_enas6_tf32.json"
for batch in 128 8192; do
    python3 benchmarks/throughput.py --device cuda --task asia --batch $batch --precision tf32 --seconds 1 --json
done >"$folder/throughput_asia_tf32.json"
python3 benchmarks/throughput.py --device cuda --task enas6 --batch 32,8192 --precision bf16 --seconds 1 \
    --json >"$folder/throughput_enas6_bf16.json"
