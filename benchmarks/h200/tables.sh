#!/usr/bin/env bash
# What is left of the paper's tables, several trainings at a time, and high-level synthesis on demand beside them:
#   bash benchmarks/h200/tables.sh OUT SECONDS TOTAL
#   bash benchmarks/h200/tables.sh OUT SECONDS
# The first call starts everything, which stops by itself TOTAL seconds later; every call waits SECONDS, or until all is
# done, and packs what is there into OUT. Call again at once, without TOTAL: a machine that is given back takes with it what was not
# finished, and then that call says so and begins nothing. Processes share the GPU through MPS: six train at 38% of the speed
# that each has alone (D-VAE on ENAS-6: 6,900 graphs a second of 18,200), four at 50% (D-VAE (fast), S-VAE, PACE); DeepGMG suffers more, beside
# six others it has 13% (350 of 2,779). Several evaluations and sparse GPs at once can fill the GPU's memory: what fails is begun
# again, twice.
#   carry/stages             stages that are there already, if any
#   carry/data, carry/hls    what DVAE_DATA holds, and hls.jsonl.gz of benchmarks/large_data.py
#   results.tar.gz.*         pieces of an archive: stages of `dvae reproduce --preset paper`, without weights; logs
#   *.safetensors            models that are searched at home
set -uo pipefail
out=${1:?a folder for what comes back} wait=${2:?seconds} total=${3:-}
began=$(date +%s)
export place=${PLACE:-/tmp/tables} preset=${PRESET:-paper} device=${DEVICE:-cuda}
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 TORCHINDUCTOR_COMPILE_THREADS=2
export PYTHONPATH=$place/repo/src:$place/repo/carry/site DVAE_DATA=$place/repo/carry/data
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps

seconds() { # that are left
    local left=$(($(cat "$place/end") - $(date +%s)))
    echo "$((left > 0 ? left : 0))"
}

row() { # NAME MODEL SEEDS TARGET...: the stages of one model, in a run of its own
    local name=$1 model=$2 seeds=$3
    shift 3
    mkdir -p "$place/runs/$name"
    [ -e "$place/repo/carry/stages" ] && cp -r "$place/repo/carry/stages" "$place/runs/$name/stages"
    for target in "$@"; do
        for attempt in 1 2 3 4; do
            local left
            left=$(seconds)
            [ "$attempt" -le 3 ] && [ "$left" -ge 6 ] || return
            python3 -m dvae reproduce "$target" --preset "$preset" --device "$device" --run "$place/runs/$name" \
                --only "$model" --seeds "$seeds" --minutes "$((left / 60)).$((left % 60 / 6))" </dev/null \
                >>"$place/logs/$name.txt" 2>&1 && break
            echo "attempt $attempt failed" >>"$place/logs/$name.txt"
        done
    done
    [ "$(seconds)" -ge 6 ] && touch "$place/done/$name" # where time is up, `dvae reproduce` has stopped in between
}

hls() { # SECONDS COUNT...: trained for so long, drawn from the prior; one draw, then the best of each COUNT
    local work=$place/hls
    mkdir -p "$work" "$place/out"
    cp "$place/repo/carry/hls/hls.jsonl.gz" "$work/"
    timeout "$(($(seconds) + 1))" python3 benchmarks/large.py --sets hls --models layerwise --device "$device" --epochs 100000 --set schedule=timed \
        --labels "${LABELS:-3000}" --seconds "$1" --work "$work" --out "$place/out" ${HLS:-} >"$place/logs/hls.txt" 2>&1
    for count in "${@:2}"; do
        timeout "$(($(seconds) + 1))" python3 -m dvae evaluate "$work/hls-layerwise" --surrogate LUT --labels "${LABELS:-3000}" \
            --best-of "$count" --device "$device" --json >"$place/out/hls-best-of-$count.json" 2>>"$place/logs/hls.txt" || return
    done
    touch "$place/done/hls"
}
export -f seconds row hls

if [ ! -e "$place" ] && [ -z "$total" ]; then
    echo "this is another machine: nothing runs here; what the last one had not finished is lost" >&2
    exit 3
fi
if [ ! -e "$place" ]; then
    mkdir -p "$place"/{logs,runs,done,out} /tmp/mps
    cp -r "$PWD" "$place/repo"
    echo $((began + total)) >"$place/end"
    if command -v nvidia-cuda-mps-control; then nvidia-cuda-mps-control -d; fi
    cat >"$place/queue" <<-'QUEUE'
		row gcn_enas enas6/gcn-original 1 table1 table2
		row gcn_asia asia-bnlearn/gcn-original 1 table1 table2
		row dvae_asia asia-bnlearn/dvae 1 table1 table2
		hls 400 16
		row dagnn_enas enas6/dagnn 1 table1 table2
	QUEUE
    [ -n "${QUEUE:-}" ] && printf '%b\n' "$QUEUE" >"$place/queue"
    (cd "$place/repo" && setsid xargs -a "$place/queue" -P "${SLOTS:-4}" -L 1 bash -c '"$@"' _ >"$place/logs/queue.log" 2>&1 &)
fi
while [ $(($(date +%s) - began)) -lt "$wait" ] && [ "$(ls "$place/done" | wc -l)" -lt "$(wc -l <"$place/queue")" ]; do sleep 1; done
echo "finished: $(ls "$place/done" | tr '\n' ' ')"
for log in "$place"/logs/*; do
    echo "$(basename "$log" .txt): $(tr '\r' '\n' <"$log" | grep -v '^ *$' | tail -n 1 | cut -c 1-150)"
done
if command -v nvidia-smi; then nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv,noheader; fi
rm -rf "$place/stages"
mkdir -p "$place/stages"
cp -r "$place"/runs/*/stages/. "$place/stages/"
tar -C "$place" -cz --exclude='*.safetensors' --exclude='*.tmp*' stages logs out | split -b 15M - "$out/results.tar.gz."
for name in ${KEEP:-asia-bnlearn-dvae-0}; do
    for model in "$place"/stages/train-"$name"-*/model.safetensors; do
        [ -e "$model" ] && cp "$model" "$out/$(basename "$(dirname "$model")").safetensors"
    done
done
ls -l "$out"
