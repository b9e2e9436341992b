#!/usr/bin/env bash
# Large DAGs, each training by itself on the GPU; schedules end with their time, however fast the machine is:
#   bash benchmarks/h200/large.sh OUT
# About twelve minutes: time and memory against nodes, then HLS as LayerDAG measures: layerwise, from the prior and as
# variations of training graphs, and dvae. The data (benchmarks/large_data.py) lie in carry/hls.
set -uo pipefail
out=${1:?a folder for what comes back}
export PYTHONPATH=$PWD/src:$PWD/carry/site PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4
work=/tmp/large
timeout 120 python3 benchmarks/scaling.py --device cuda --hidden 256 --batch 32 --seconds 0.4 --limit 5 \
    --nodes 512,1024,8,32,64,128,256 --out "$out" >"$out/scaling.txt" 2>&1

judged() { # NAME OPTIONS...: one model on HLS, in folders of its own
    mkdir -p "$out/$1" $work/"$1"
    cp carry/hls/*.jsonl.gz $work/"$1"/
    python3 benchmarks/large.py --sets hls --device cuda --epochs 100000 --set schedule=timed --labels 3000 \
        --work $work/"$1" --out "$out/$1" "${@:2}" 2>&1 | tail -n 2
}
judged prior --models layerwise --seconds 240
judged places --models layerwise --seconds 240 --places 8 --change 0.35 --set kl_weight=0.005 --set mutations=0.5
judged dvae --models dvae --seconds 120 --set learning_rate=2e-4
ls -l "$out"
