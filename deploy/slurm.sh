#!/bin/bash
# Any `tabia` command that takes --ray, on the nodes of one Slurm job: a Ray head on the first, a worker on each other.
#   sbatch --nodes=4 deploy/slurm.sh train connect4 --out runs/connect4 --actors 32
#   sbatch --nodes=4 deploy/slurm.sh resume runs/connect4 --actors 32
# Tabia must be installed on every node, in the same version, and on the PATH of the job; docs/how-to/launch-a-cluster.md.
#   TABIA_BIN            where `tabia` and `ray` are, if not on the PATH
#   TABIA_HEAD_ADDRESS   the address of the first node for the others, if it is not its first address
#SBATCH --job-name=tabia
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --output=tabia-%j.log
# Two minutes before the end, so that the run is saved.
#SBATCH --signal=B:TERM@120

set -euo pipefail

if [ $# -eq 0 ]; then
  echo "Usage: sbatch deploy/slurm.sh COMMAND [ARGUMENT]..., such as: train connect4 --out runs/connect4 --actors 8" >&2
  exit 2
fi
if [ -n "${TABIA_BIN:-}" ]; then
  PATH=$TABIA_BIN:$PATH
fi

# Other users of the nodes can reach the ports, so Ray must ask for a token. Steps get it in their environment.
RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
RAY_USAGE_STATS_ENABLED=0
export PATH RAY_AUTH_MODE RAY_AUTH_TOKEN RAY_USAGE_STATS_ENABLED

# The batch script runs on the first node of the job. Directory and port are the job's own: nodes may be shared.
read -r head < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
own=$(hostname --all-ip-addresses | cut -d ' ' -f 1)
address=${TABIA_HEAD_ADDRESS:-$own}:$((20000 + SLURM_JOB_ID % 10000))
common=(--num-cpus="${SLURM_CPUS_PER_TASK:-1}" --temp-dir="/tmp/tabia-$SLURM_JOB_ID" --disable-usage-stats --block)
if [ -n "${SLURM_GPUS_ON_NODE:-}" ]; then
  common+=(--num-gpus="$SLURM_GPUS_ON_NODE")
fi

steps=()
driver=
# shellcheck disable=SC2317  # called by a trap
stop_driver() {
  if [ -z "$driver" ]; then
    exit 143
  fi
  kill -TERM "$driver" 2> /dev/null || true
}
# shellcheck disable=SC2317  # called by a trap
stop_steps() {
  if [ ${#steps[@]} -gt 0 ]; then
    kill "${steps[@]}" 2> /dev/null || true
    wait
  fi
}
trap stop_driver TERM INT
trap stop_steps EXIT

srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \
  ray start --head --node-ip-address="${address%:*}" --port="${address#*:}" --include-dashboard=false "${common[@]}" &
steps+=($!)

tries=0
until ray status --address "$address" > /dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ] || ! kill -0 "${steps[0]}" 2> /dev/null; then
    echo "The Ray head on $head ($address) did not start; its messages are above." >&2
    exit 1
  fi
  sleep 1
done

# Workers may join at any time, so the command need not wait for them.
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
  others=$((SLURM_JOB_NUM_NODES - 1))
  srun --overlap --nodes="$others" --ntasks="$others" --exclude="$head" ray start --address="$address" "${common[@]}" &
  steps+=($!)
fi

tabia "$@" --ray "$address" &
driver=$!
status=0
# The first wait ends early if a signal arrives; the second waits until the command has saved its work.
wait "$driver" || status=$?
if kill -0 "$driver" 2> /dev/null; then
  status=0
  wait "$driver" || status=$?
fi
exit "$status"
