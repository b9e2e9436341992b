#!/usr/bin/env bash
# Large DAGs, each training by itself on the GPU; schedules end with their time, however fast the machine is:
#   bash benchmarks/h200/large.sh OUT
# About twelve minutes: time and memory against nodes, then HLS as LayerDAG measures: layerwise, from the prior and as
# variations of training graphs, and dvae. The data (benchmarks/large_data.py) lie in carry/hls.
set -uo pipefail
out=${1:?a folder for what comes back}
export PYTHONPATH=$PWD/src:$PWD/carry/site PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4
work=/tmp/large
mkdir -p $work
cp carry/hls/*.jsonl.gz $work/
timeout 120 python3 benchmarks/scaling.py --device cuda --hidden 256 --batch 32 --seconds 0.4 --limit 5 \
    --nodes 8,32,64,128,256,512,1024 --out "$out" >"$out/scaling.txt" 2>&1
timed=(--device cuda --epochs 100000 --set schedule=timed --labels 3000 --work $work --out "$out")
python3 benchmarks/large.py --sets hls --models layerwise --seconds 240 "${timed[@]}" 2>&1 | tail -n 2
mkdir -p "$out/places" $work/places
cp $work/*.jsonl.gz $work/places/
python3 benchmarks/large.py --sets hls --models layerwise --seconds 240 --places 8 --change 0.35 --device cuda \
    --epochs 100000 --set schedule=timed --set kl_weight=0.005 --set mutations=0.5 --labels 3000 --work $work/places \
    --out "$out/places" 2>&1 | tail -n 2
python3 benchmarks/large.py --sets hls --models dvae --seconds 120 --set learning_rate=2e-4 "${timed[@]}" 2>&1 | tail -n 2
ls -l "$out"
