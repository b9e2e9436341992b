#!/usr/bin/env bash
# What a call of reproduce.sh brought back, added to a run folder, and the report of all that is there:
#   bash benchmarks/h200/collect.sh OUT RUN
set -euo pipefail
out=${1:?the folder that came back}
run=${2:?the folder of the run, e.g. runs/paper}
mkdir -p "$run"
tar -C "$run" -xzf "$out/results.tar.gz"
for weights in "$out"/train-*.tar; do
    if [ -e "$weights" ]; then
        tar -C "$run" -xf "$weights"
    fi
done
dvae report "$run"
