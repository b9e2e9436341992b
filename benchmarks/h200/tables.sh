#!/usr/bin/env bash
# What is left of the paper's tables, several trainings at a time, and searches as in the paper beside them:
#   bash benchmarks/h200/tables.sh OUT SECONDS TOTAL
# The first call starts everything, which stops by itself TOTAL seconds later; every call waits SECONDS and packs what is
# there into OUT. Call again at once: a machine that is given back takes with it what was not finished. Six processes
# that share the GPU through MPS train at 38% of the speed that each has alone (D-VAE on ENAS-6: 6,900 graphs a second of
# 18,200), so together 2.3 times as fast as one after the other; seven, with DeepGMG among them and two trainings on large
# graphs or searches beside, only 1.6 times.
# Searches run on CPU cores, with SEARCHES=1 also on the GPU. Six trainings, several evaluations and sparse GPs at once can fill
# the GPU's memory: then one of them ends with an error.
#   carry/stages             stages that are there already, among them the trained model that is searched
#   results.tar.gz.*         pieces of an archive: stages of `dvae reproduce --preset paper`, without weights; rounds of searches; logs
#   *.safetensors            models that were trained and not measured in time
set -uo pipefail
out=${1:?a folder for what comes back} wait=${2:?seconds} total=${3:-1700}
began=$(date +%s)
export place=${PLACE:-/tmp/tables} preset=${PRESET:-paper} device=${DEVICE:-cuda}
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 TORCHINDUCTOR_COMPILE_THREADS=2
export PYTHONPATH=$place/repo/src:$place/repo/carry/site DVAE_DATA=$place/repo/carry/data
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps

seconds() { # that are left
    local left=$(($(cat "$place/end") - $(date +%s)))
    echo "$((left > 0 ? left : 0))"
}

row() { # NAME MODEL SEEDS PART TARGET...: the stages of one model, in a run of its own
    local name=$1 model=$2 seeds=$3 part=$4
    shift 4
    cd "$place/repo" || exit
    for target in "$@"; do
        local left
        left=$(seconds)
        [ "$left" -ge 6 ] || return
        python3 -m dvae reproduce "$target" --preset "$preset" --device "$device" --run "$place/runs/$name" \
            --only "$model" --seeds "$seeds" --part "$part" --minutes "$((left / 60)).$((left % 60 / 6))" </dev/null \
            >>"$place/logs/$name.txt" 2>&1 || return
    done
    touch "$place/done/$name"
}

known() { # NAME: a run that begins with the stages that are there
    mkdir -p "$place/runs/$1"
    cp -r "$place/repo/carry/stages" "$place/runs/$1/stages"
}

trial() { # NUMBER DEVICE: one search as in the paper, unless another process has it
    mkdir "$place/claims/$1" 2>/dev/null || return 0
    known "trial$1"
    cd "$place/repo" || exit
    python3 benchmarks/h200/trial.py "$place/runs/trial$1" "$1" "$2" "$(seconds)" "$preset" \
        >"$place/logs/trial$1.txt" 2>&1 && touch "$place/done/trial$1"
}

searches() { # on the GPU, one after the other
    for number in $LEFT; do trial "$number" "$device"; done
}
export -f seconds row known trial searches
export LEFT="6" # of the ten

if [ ! -e "$place" ]; then
    mkdir -p "$place"/{logs,runs,done,claims,out} /tmp/mps
    cp -r "$PWD" "$place/repo"
    echo $((began + total)) >"$place/end"
    if command -v nvidia-cuda-mps-control; then nvidia-cuda-mps-control -d; fi
    cat >"$place/queue" <<-'QUEUE'
		fast enas6/dvae-fast 1 1/1 table3
		svae_enas enas6/svae 1 1/1 table2
		pace_asia asia-bnlearn/pace 1 1/1 table1 table2
		axes_enas enas6/dvae-axes 3 1/1 table1 table2
		deepgmg_enas enas6/deepgmg 1 1/1 table1
		deepgmg_asia asia-bnlearn/deepgmg 1 1/1 table1
		gcn_enas enas6/gcn-in-place 1 1/1 table1 table2
		gcn_asia asia-bnlearn/gcn-in-place 1 1/1 table1 table2
		noise_enas enas6/dvae-original 1 1/1 table1 table2
		noise_asia asia-bnlearn/dvae-original 1 1/1 table1 table2
		sum enas6/dvae-sum 1 1/1 table1 table2
	QUEUE
    setsid xargs -a "$place/queue" -P "${SLOTS:-6}" -L 1 bash -c 'row "$@"' _ >"$place/logs/queue.log" 2>&1 &
    if [ -n "${SEARCHES:-}" ]; then setsid bash -c searches >"$place/logs/searches.log" 2>&1 & fi
    echo "$LEFT" | tr ' ' '\n' | tac | CUDA_VISIBLE_DEVICES='' setsid xargs -P "${TRIALS:-3}" -I N bash -c 'trial N cpu' >"$place/logs/trials.log" 2>&1 &
fi
while [ $(($(date +%s) - began)) -lt "$wait" ]; do sleep 1; done
echo "finished: $(ls "$place/done" | tr '\n' ' ')"
for log in "$place"/logs/*; do
    echo "$(basename "$log" .txt): $(tr '\r' '\n' <"$log" | grep -v '^ *$' | tail -n 1 | cut -c 1-150)"
done
rm -rf "$place"/{stages,rounds}
mkdir -p "$place"/{stages,rounds}
cp -r "$place"/runs/*/stages/. "$place/stages/"
for rounds in "$place"/runs/trial*/work/*/rounds.json; do
    [ -e "$rounds" ] && mkdir -p "$place/rounds/$(basename "$(dirname "$rounds")")" &&
        cp "$rounds" "$place/rounds/$(basename "$(dirname "$rounds")")/"
done
tar -C "$place" -cz --exclude='*.safetensors' --exclude='*.tmp*' stages rounds logs out | split -b 15M - "$out/results.tar.gz."
for model in "$place"/runs/*/stages/train-*/model.safetensors; do
    stages=$(dirname "$(dirname "$model")") name=$(basename "$(dirname "$model")")
    [[ $stages == */trial* ]] && continue
    compgen -G "$stages/predict-$(echo "$name" | sed 's/^train-//; s/-[0-9a-f]*$//')-converged-*/result.json" >/dev/null ||
        [ "$(ls "$out"/*.safetensors 2>/dev/null | wc -l)" -ge 4 ] || cp "$model" "$out/$name.safetensors"
done
ls -l "$out"
