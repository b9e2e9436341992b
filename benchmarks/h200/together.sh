#!/usr/bin/env bash
# All that still needs the GPU, side by side on one machine that several calls hold on to:
#   bash benchmarks/h200/together.sh OUT SECONDS TOTAL
# The first call starts the jobs, which stop by themselves TOTAL seconds later; every call waits SECONDS, or until all
# jobs have ended, and packs what is there into OUT. Small kernels of one process leave most of the GPU idle, so the
# processes share it through MPS; figures of speed are only taken before they start.
#   search_paper.jsonl   20 searches on Asia with the paper's strategy, model in carry/asia_0
#   nas/                 neural architecture search on CIFAR-10
#   results.tar.gz       stages of `dvae reproduce --preset paper`, without weights; logs of everything
#   WEIGHTS.tar          of D-VAE and S-VAE
set -uo pipefail
out=${1:?a folder for what comes back} wait=${2:?seconds} total=${3:-1300}
export PYTHONPATH=src PYTHONUNBUFFERED=1 DVAE_DATA=${DVAE_DATA:-carry/data} OMP_NUM_THREADS=1
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps
place=/tmp/together
began=$(date +%s)

seconds() { echo $(($(cat $place/end) - $(date +%s))); } # that are left
minutes() { echo "$(($(seconds) / 60)).$(($(seconds) % 60 / 6))"; }

stages() { # NAME: then lines "TARGET MODELS" from standard input, one after the other, in a folder of its own
    while read -r target models; do
        python3 -m dvae reproduce "$target" --preset paper --device cuda --seeds 1 --run "$place/runs/$1" \
            --only "$models" --minutes "$(minutes)"
    done >>"$place/logs/$1.txt" 2>&1
}

job() { # NAME COMMAND...: runs on after this call
    touch "$place/started/$1"
    setsid bash -c '"${@:2}"; touch '"$place"'/done/"$1"' - "$@" >"$place/logs/$1.txt" 2>&1 &
}

paper_search() { # SEED
    timeout "$(seconds)" python3 benchmarks/search.py carry/asia_0 --task asia-bnlearn \
        --strategies paper --first-seed "$1" --seeds 1 --device cuda --lines "$place/lines/$1.jsonl" --json
}

zoo() { # NAME LINES
    printf '%b\n' "$2" | stages "$1"
}

export -f seconds minutes stages paper_search zoo
export place

if [ ! -e $place ]; then
    mkdir -p $place/{logs,runs,lines,started,done,nas} /tmp/mps
    echo $((began + total)) >$place/end
    for pair in "enas6 32" "asia 128"; do
        timeout 100 python3 benchmarks/throughput.py --device cuda --task ${pair% *} --model deepgmg \
            --batch ${pair#* } --precision tf32 --seconds 0.5 --encode 2048 --decode 2048 --json \
            >$place/logs/deepgmg_${pair% *}.json 2>$place/logs/deepgmg_${pair% *}.txt
        echo "deepgmg on ${pair% *}: $(($(date +%s) - began)) s"
        if [ $(($(date +%s) - began)) -gt 45 ]; then break; fi
    done
    nvidia-cuda-mps-control -d
    job nas bash benchmarks/h200/nas.sh $place/nas "$(minutes)" "${SEARCH_MINUTES:-6.5}"
    job dvae-enas bash -c 'zoo dvae-enas "table1 enas6/dvae\ntable2 enas6/dvae"'
    job dvae-bn bash -c 'zoo dvae-bn "table1 asia-bnlearn/dvae\ntable2 asia-bnlearn/dvae\ntable1 asia-bnlearn/pace\ntable2 asia-bnlearn/pace"'
    job svae bash -c 'zoo svae "table1 svae\ntable2 svae"'
    job others bash -c 'zoo others "table1 enas6/pace,enas6/dagnn\ntable2 enas6/pace,enas6/dagnn\ntable1 enas6/gcn\ntable2 enas6/gcn\ntable1 enas6/graphrnn"'
    job baselines bash -c 'zoo baselines "table2 baselines"'
    job search bash -c "seq 0 19 | xargs -P ${SEARCHES:-9} -I{} bash -c 'paper_search {}'"
fi

while [ $(($(date +%s) - began)) -lt "$wait" ] && [ "$(ls $place/done | wc -l)" -lt "$(ls $place/started | wc -l)" ]; do sleep 2; done
echo "finished: $(ls $place/done | tr '\n' ' ')"
for log in $place/logs/*.txt; do
    echo "== $log"
    tr '\r' '\n' <"$log" | tail -n 2 | cut -c 1-200
done
nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv,noheader
cat $place/lines/*.jsonl >"$out/search_paper.jsonl" 2>/dev/null
rm -rf $place/merged && mkdir -p $place/merged/stages
for run in $place/runs/*/; do cp -r "$run"/stages/. $place/merged/stages/ 2>/dev/null; done
tar -C $place -czf "$out/results.tar.gz" --exclude=model.safetensors merged logs nas lines
for weights in $place/merged/stages/train-*-{dvae,svae}-0-*/; do
    [ -e "$weights/model.safetensors" ] && tar -C $place/merged -cf "$out/$(basename "$weights").tar" \
        "stages/$(basename "$weights")/model.safetensors"
done
ls -l "$out"
