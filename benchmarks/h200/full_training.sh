#!/usr/bin/env bash
# True accuracies of chosen architectures with the fast recipe, then of the best of them longer:
#   bash benchmarks/h200/full_training.sh DAGS.jsonl FOLDER MINUTES LONGER
# In the file's order, as many as time allows after what LONGER epochs of the best need. DVAE_DATA holds cifar10/.
# Checkpoints stay in /tmp/trained: called again on the same machine, it goes on.
set -uo pipefail
dags=${1:?a JSONL file} folder=${2:?a folder for the results}
mkdir -p "$folder"
rm -f /tmp/trained/results.json # of an earlier call; this one writes its own, finished trainings included
export PYTHONPATH=src PYTHONUNBUFFERED=1
python3 -m dvae nas train "$dags" --recipe fast --set compile=true --data cifar10 --device cuda --out /tmp/trained \
    --minutes "${3:-20}" --longer "${4:-90}" >"$folder/full_training.txt" 2>"$folder/full_training.log"
code=$?
cp /tmp/trained/results.json "$folder/full_training.json"
cat "$folder/full_training.txt"
tail -5 "$folder/full_training.log"
exit $code
