#!/bin/bash
# One shard of a job per task of a Slurm array.
#
#   sbatch --array=1-8 --export=ALL,SHARDS=8 slurm-array.sh \
#       explain-prediction --scenarios scenarios.yaml --data-dir db --json ledger.json
#
# When all tasks are done, on any machine that sees the folder:
#
#   perfdb merge-shards shards
#
# Tasks that were killed are named by that command, and done again with the same SHARDS: --array=2,5-7.
#SBATCH --job-name=perfdb-files
#SBATCH --cpus-per-task=1
#SBATCH --requeue
set -euo pipefail

: "${SHARDS:?how many shards the job has, which is not the number of tasks when some are done again}"
exec perfdb "$@" --shard "$SLURM_ARRAY_TASK_ID/$SHARDS"
