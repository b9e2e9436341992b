#!/usr/bin/env bash
# A slice of the paper's experiments on a CUDA device, in less than ten minutes:
#   bash benchmarks/h200/reproduce.sh OUT TARGET [OPTIONS of dvae reproduce, e.g. --only dvae,svae --seeds 1]
# MINUTES (default 8) is when no further stage is begun and training stops; the same call goes on from there.
# RUN (default runs/paper) is where results are kept. Carry RUN/stages from machine to machine, and with it all that is
# finished; RUN/work holds checkpoints of what is not, and lives as long as the machine.
# DVAE_DATA holds enas/final_structures6.txt and asia/asia.csv.
# OUT gets, for `bash benchmarks/h200/collect.sh OUT RUN` at home:
#   results.tar.gz   every result so far, without weights (small)
#   WEIGHTS.tar      the weights of models trained in this call, in half precision, as far as they fit: at most six,
#                    none of 16 MiB or more (DeepGMG's stay here; its numbers are in its results)
set -uo pipefail
out=${1:?a folder for what comes back}
target=${2:?table1, table2, table3, bo-enas, bo-bn, figures or all}
shift 2
run=${RUN:-runs/paper}
mkdir -p "$out" "$run"
export PYTHONPATH=src PYTHONUNBUFFERED=1
touch "$run/.began"
python3 -m dvae reproduce "$target" --preset paper --device cuda --run "$run" --minutes "${MINUTES:-8}" "$@"
tar -C "$run" -czf "$out/results.tar.gz" --exclude=model.safetensors stages plan.json failed.json
find "$run/stages" -name model.safetensors -newer "$run/.began" -size -16000k | head -n 6 | while read -r weights; do
    name=$(basename "$(dirname "$weights")")
    tar -C "$run" -cf "$out/$name.tar" "stages/$name/model.safetensors"
done
ls -l "$out"
