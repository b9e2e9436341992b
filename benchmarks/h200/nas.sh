#!/usr/bin/env bash
# Neural architecture search on CIFAR-10, end to end, in so many minutes:
#   bash benchmarks/h200/nas.sh FOLDER MINUTES SEARCH_MINUTES EPOCHS TOP
# SEARCH_MINUTES are those before full training; EPOCHS 0 is as many as time allows. DVAE_DATA holds cifar10/ (the
# binary files, or the packed JPEGs). Pieces stay in /tmp/nas: called again while the machine is the same, it spends
# all its minutes on further full trainings: of EPOCHS epochs, of the TOP best at most.
set -uo pipefail
folder=${1:?a folder for the results}
mkdir -p "$folder"
export PYTHONPATH=src PYTHONUNBUFFERED=1
python3 benchmarks/nas_cifar10.py --work /tmp/nas --out "$folder" --minutes "${2:-20}" \
    --search-minutes "${3:-6}" --epochs "${4:-0}" --top "${5:-15}" --device cuda \
    2>"$folder/nas_cifar10.log" | tail -60
grep -v -E "^(scoring|training|supernet|search): .* left" "$folder/nas_cifar10.log" | tail -40
