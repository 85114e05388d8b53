#!/usr/bin/env bash
# Scores predictions on measured tables: the tables in docs/benchmarks/prediction.md.
#   crates/model/benches/tasks.sh TOOLS DATA OUT
# TOOLS has make_tasks.py and score.py, DATA the measured tables; OUT is made and filled.
set -euo pipefail
tools=$1 data=$2 out=$3
mkdir -p "$out"
cargo build --release -p perfdb-query --example answer_tasks
python3 "$tools/make_tasks.py" --data "$data" --out "$out/tasks" --truth "$out/truth"
echo task,point,predicted_us,low_us,high_us >"$out/predictions.csv"
for task in "$out"/tasks/*.csv; do
    target/release/examples/answer_tasks <"$task" | tail -n +2 >>"$out/predictions.csv"
done
for by in kind family,kind; do
    python3 "$tools/score.py" "$out/predictions.csv" --truth "$out/truth/truth_visible.csv" --by "$by"
done
python3 "$(dirname "$0")/pass.py" "$out"
