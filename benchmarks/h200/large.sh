#!/usr/bin/env bash
# Large DAGs, each training by itself on the GPU; schedules end with their time, however fast the machine is:
#   bash benchmarks/h200/large.sh OUT PART...
# Parts, with their seconds: scaling (150, time and memory of 512 and 1,024 nodes once more, others are known),
# before (240, the same of an earlier version), back (240, which of the small HLS graphs come back), prior and places (900
# and 500, HLS as LayerDAG measures: drawn from the prior, one, the best of 16 and of 32, and variations of training
# graphs). The data (benchmarks/large_data.py) lie in carry/hls: hls.jsonl.gz, and types64.jsonl.gz (--max-nodes 64 --types).
set -uo pipefail
out=${1:?a folder for what comes back}
export PYTHONPATH=$PWD/src:$PWD/carry/site PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4
work=/tmp/large

scaling() { # beside the rows of the code before, which are known
    [ -e "$out/scaling_cuda.json" ] || cp benchmarks/results/2026-11-16-large-h200/scaling_cuda.json "$out/"
    timeout 150 python3 benchmarks/scaling.py --device cuda --hidden 256 --batch 32 --seconds 0.3 --limit 40 \
        --nodes 512,1024 --again 512,1024 --baseline carry/before --out "$out" >"$out/scaling.txt" 2>&1
}

before() { # the code of commit 80e8955, in carry/before (git archive 80e8955 src | tar -x -C carry/before), beside ours
    [ -e "$out/scaling_cuda.json" ] || cp benchmarks/results/2026-11-16-large-h200/scaling_cuda.json "$out/"
    timeout 240 python3 benchmarks/scaling.py --device cuda --hidden 256 --batch 32 --seconds 0.3 --limit 16 \
        --baseline carry/before --nodes 64,128,256,512,1024,8,32 --out "$out" >"$out/before.txt" 2>&1
    tail -n 12 "$out/before.txt"
}

back() {
    cp carry/hls/types64.jsonl.gz $work/
    python3 -m dvae train --task file:$work/types64.jsonl.gz --run $work/back --model layerwise --preset paper \
        --hidden 256 --latent 1104 --batch 128 --lr 1e-3 --epochs 100000 --minutes 2.917 --device cuda \
        --set model.place_latents=16 --set model.token_width=256 --set model.layers=4 --set model.kl_weight=0.005 \
        --set training.schedule=timed --set training.warmup=500 --set training.clip=20.0 \
        --set training.mutations=0.8 --set training.validation_every=1000000 >"$out/back.txt" 2>&1
    python3 -m dvae evaluate $work/back --encodings 1 --decodings 1 --device cuda --json >"$out/back.json" 2>>"$out/back.txt"
    cp $work/back/metrics.csv "$out/back.csv"
}

judged() { # NAME OPTIONS...: one model on HLS, in folders of its own
    mkdir -p "$out/$1" $work/"$1"
    cp carry/hls/hls.jsonl.gz $work/"$1"/
    python3 benchmarks/large.py --sets hls --device cuda --epochs 100000 --set schedule=timed --labels 3000 \
        --work $work/"$1" --out "$out/$1" --models layerwise --seconds 240 "${@:2}" 2>&1 | tail -n 2
}

prior() {
    judged prior
    for count in 16 32; do
        python3 -m dvae evaluate $work/prior/hls-layerwise --surrogate LUT --labels 3000 --best-of $count --device cuda --json \
            >"$out/prior-best-of-$count.json" 2>"$out/prior-best-of-$count.txt"
    done
}

places() { judged places --places 8 --change 0.35 --set kl_weight=0.005 --set mutations=0.5; }

mkdir -p $work
for part in "${@:2}"; do
    began=$(date +%s)
    $part
    echo "$part took $(($(date +%s) - began)) s"
done
ls -l "$out"
