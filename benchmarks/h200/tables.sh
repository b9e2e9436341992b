#!/usr/bin/env bash
# What is left of the paper's tables, six trainings at a time, and searches as in the paper on the CPU beside them:
#   bash benchmarks/h200/tables.sh OUT SECONDS TOTAL
# The first call starts everything, which stops by itself TOTAL seconds later; every call waits SECONDS and packs what is
# there into OUT. Call again at once: a machine that is given back takes with it what was not finished. Six processes
# that share the GPU through MPS train at 38% of the speed that each has alone (D-VAE on ENAS-6: 6,900 graphs a second of
# 18,200), so together 2.3 times as fast as one after the other.
#   results.tar.gz           stages of `dvae reproduce --preset paper`, without weights; logs
#   enas6-dvae-0.safetensors the model that is searched
set -uo pipefail
out=${1:?a folder for what comes back} wait=${2:?seconds} total=${3:-1700}
began=$(date +%s)
export place=/tmp/tables PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 TORCHINDUCTOR_COMPILE_THREADS=2
export PYTHONPATH=$place/repo/src:$place/repo/carry/site DVAE_DATA=$place/repo/carry/data
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps

minutes() { # that are left
    local left=$(($(cat $place/end) - $(date +%s)))
    echo "$((left / 60)).$((left % 60 / 6))"
}

row() { # NAME MODEL SEEDS PART TARGET...: the stages of one model, in a run of its own
    local name=$1 model=$2 seeds=$3 part=$4
    shift 4
    cd $place/repo || exit
    for target in "$@"; do
        python3 -m dvae reproduce "$target" --preset paper --device cuda --run "$place/runs/$name" --only "$model" \
            --seeds "$seeds" --part "$part" --minutes "$(minutes)" </dev/null >>"$place/logs/$name.txt" 2>&1
    done
    touch "$place/done/$name"
}

trial() { # NUMBER: one search as in the paper, once the model of seed 0 is there
    while [ ! -e $place/done/dvae0 ]; do sleep 2; done
    cd $place/repo || exit
    mkdir -p "$place/runs/trial$1"
    cp -r $place/runs/dvae0/stages "$place/runs/trial$1/stages"
    CUDA_VISIBLE_DEVICES='' python3 -m dvae reproduce bo-enas --preset paper --device cpu --seeds 1 --only enas6/dvae \
        --part "$1/10" --run "$place/runs/trial$1" --minutes "$(minutes)" </dev/null >"$place/logs/trial$1.txt" 2>&1
    touch "$place/done/trial$1"
}
export -f minutes row trial

if [ ! -e $place ]; then
    mkdir -p $place/{logs,runs,done} /tmp/mps
    cp -r "$PWD" $place/repo
    echo $((began + total)) >$place/end
    nvidia-cuda-mps-control -d
    cat >$place/queue <<-'QUEUE'
		dvae0 enas6/dvae 1 1/1 table1
		dvae1 enas6/dvae 3 2/3 table1 table2
		dvae2 enas6/dvae 3 3/3 table1 table2
		graphrnn_asia asia-bnlearn/graphrnn 1 1/1 table1 table2
		dagnn_asia asia-bnlearn/dagnn 1 1/1 table1 table2
		pace_asia asia-bnlearn/pace 1 1/1 table1 table2
		pace_enas enas6/pace 1 1/1 table1 table2
		graphrnn_enas enas6/graphrnn 1 1/1 table1 table2
		gcn_enas enas6/gcn-in-place 1 1/1 table1 table2
		gcn_asia asia-bnlearn/gcn-in-place 1 1/1 table1 table2
		smp enas6/dvae-smp 1 1/1 table3
		fast enas6/dvae-fast 1 1/1 table3
		sum enas6/dvae-sum 1 1/1 table1 table2
		noise_enas enas6/dvae-original 1 1/1 table1 table2
		noise_asia asia-bnlearn/dvae-original 1 1/1 table1 table2
		deepgmg_enas enas6/deepgmg 1 1/1 table1 table2
		deepgmg_asia asia-bnlearn/deepgmg 1 1/1 table1 table2
		svae_enas enas6/svae 1 1/1 table2
		svae_asia asia-bnlearn/svae 1 1/1 table2
	QUEUE
    setsid xargs -a $place/queue -P 6 -L 1 bash -c 'row "$@"' _ >$place/logs/queue.log 2>&1 &
    seq 1 10 | setsid xargs -P 9 -L 1 bash -c 'trial "$@"' _ >$place/logs/trials.log 2>&1 &
fi
while [ $(($(date +%s) - began)) -lt "$wait" ]; do sleep 1; done
echo "finished: $(ls $place/done | tr '\n' ' ')"
for log in $place/logs/*.txt; do
    echo "$(basename "$log" .txt): $(tr '\r' '\n' <"$log" | grep -v '^ *$' | tail -n 1 | cut -c 1-150)"
done
rm -rf $place/stages
mkdir -p $place/stages
cp -r $place/runs/*/stages/. $place/stages/
tar -C $place -czf "$out/results.tar.gz" --exclude='*.safetensors' --exclude='*.tmp*' stages logs
cp $place/runs/dvae0/stages/train-*/model.safetensors "$out/enas6-dvae-0.safetensors" 2>/dev/null
ls -l "$out"
