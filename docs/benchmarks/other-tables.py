#!/usr/bin/env python3
"""Public tables that nothing was chosen on, in the form that crates/model/benches/tasks.sh reads: the last table in prediction.md.

    other-tables.py AICONFIGURATOR VIDUR AITER OUT

AICONFIGURATOR, VIDUR, AITER: git clones of github.com/ai-dynamo/aiconfigurator, github.com/microsoft/vidur and github.com/ROCm/aiter; the newest commit is read.
OUT gets `tables.json` and `visible/*.csv`: attention, products, experts and oneCCL of an Intel B60, NCCL of H100 and B300, layers of four models on an H100,
experts tuned on an MI308X, and products tuned on an MI355X. Needs pyarrow.
"""
import argparse, csv, io, json, subprocess
from pathlib import Path

import pyarrow.parquet as parquet

DATA = "aic-core/src/aiconfigurator_core/systems/data"
ATTENTION = {"batch_size": "batch", "isl": "query_tokens", "num_heads": "heads", "num_key_value_heads": "kv_heads", "kv_cache_dtype": "kv_dtype"}
EXPERTS = {"moe_dtype": "dtype", "distribution": "routing", "num_tokens": "tokens", "hidden_size": "hidden", "inter_size": "intermediate", "num_experts": "experts", "moe_tp_size": "tp", "moe_ep_size": "ep"}
COLLECTIVE = {"op_name": "collective", "nccl_dtype": "dtype", "message_size": "message_elements", "num_gpus": "ranks"}
TUNED = {"token": "tokens", "model_dim": "hidden", "inter_dim": "intermediate", "expert": "experts", "us": "time_us"}
EXPERT_AXES = ["tokens", "hidden", "intermediate", "topk", "experts", "tp", "ep"]
LAYERS = "data/profiling/compute/h100/{}/mlp.csv"
MODELS = ["meta-llama/Llama-2-70b-hf", "meta-llama/Llama-2-7b-hf", "Qwen/Qwen-72B", "codellama/CodeLlama-34b-Instruct-hf"]
TUNED_EXPERTS = ["aiter/configs/tuned_fmoe.csv", "aiter/configs/model_configs/a8w8_blockscale_tuned_fmoe_ds_v3.csv"]
TUNED_PRODUCTS = {
    "a8w8_bpreshuffle": ["aiter/configs/a8w8_bpreshuffle_tuned_gemm.csv", "aiter/configs/model_configs/dsv3_a8w8_bpreshuffle_tuned_gemm.csv", "aiter/configs/model_configs/a8w8_bpreshuffle_tuned_gemm_kimik3.csv"],
    "a8w8_blockscale": ["aiter/configs/a8w8_blockscale_tuned_gemm.csv"],
    "a4w4": ["aiter/configs/a4w4_blockscale_tuned_gemm.csv"],
}


def shown(clone, path):
    """A file of the newest commit."""
    return subprocess.run(["git", "-C", clone, "show", f"HEAD:{path}"], capture_output=True, check=True).stdout


def rows_of(clone, path, renamed):
    """Rows of a CSV or Parquet file with columns renamed."""
    content = shown(clone, path)
    rows = parquet.read_table(io.BytesIO(content)).to_pylist() if path.endswith(".parquet") else csv.DictReader(io.StringIO(content.decode()))
    return [{renamed.get(name, name): cell for name, cell in row.items()} for row in rows]


def versions(clone, folder, file):
    """The files of this name in the versions of a folder."""
    listed = subprocess.run(["git", "-C", clone, "ls-tree", "-r", "--name-only", "HEAD", f"{DATA}/{folder}"], capture_output=True, check=True, text=True).stdout
    return [path for path in listed.splitlines() if path.endswith("/" + file)]


def differ(rows, names):
    """Those of some columns in which rows differ."""
    return [name for name in names if len({row.get(name) for row in rows}) > 1]


class Tables:
    def __init__(self, out):
        self.out, self.all = Path(out), []
        (self.out / "visible").mkdir(parents=True, exist_ok=True)

    def add(self, name, family, rows, group, axes, size, config, time="latency", constants=None):
        unit = {"latency": "time_ms"}.get(time, time)
        with open(self.out / f"visible/{name}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(group + axes + [unit])
            writer.writerows([row[column] for column in group + axes + [time]] for row in rows)
        self.all.append(dict(table=name, split="visible", family=family, file=f"visible/{name}.csv", group=group, axes=axes, size_axis=size, config=config, time_column=unit, constants=constants or {}))
        (self.out / "tables.json").write_text(json.dumps(self.all, indent=1))


def first_of_each(rows, columns):
    """Files of tuned kernels repeat sizes."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), row)
    return list(found.values())


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("aiconfigurator", "vidur", "aiter", "out"):
        arguments.add_argument(name)
    options = arguments.parse_args()
    tables = Tables(options.out)

    def imported(system, file):
        for path in versions(options.aiconfigurator, system, file):
            framework, version = path.split("/")[-3:-1]
            yield path, f"{system.split('/')[0].removesuffix('_sxm')}__{framework}-{version}"

    for path, name in imported("b60/attention", "context_attention_perf.parquet"):
        rows = rows_of(options.aiconfigurator, path, ATTENTION)
        group = ["kv_dtype"] + differ(rows, ["head_dim", "window_size"])
        constants = {"dtype": "bfloat16"} | ({} if "head_dim" in group else {"head_dim": "128"})
        tables.add(f"prefill_attention__{name}", "prefill_attention", rows, group, ["batch", "query_tokens", "heads", "kv_heads"], "query_tokens", ["heads", "kv_heads"], constants=constants)
    for path, name in imported("b60/attention", "generation_attention_perf.parquet"):
        rows = rows_of(options.aiconfigurator, path, ATTENTION)
        rows = [row | {"past_tokens": row["query_tokens"] + row["step"] - 1} for row in rows]
        group = ["kv_dtype"] + differ(rows, ["head_dim", "window_size"])
        tables.add(f"decode_attention__{name}", "decode_attention", rows, group, ["batch", "past_tokens", "heads", "kv_heads"], "past_tokens", ["heads", "kv_heads"], constants={"dtype": "bfloat16"})
    for path, name in imported("b60/moe", "moe_perf.parquet"):
        rows = rows_of(options.aiconfigurator, path, EXPERTS)
        tables.add(f"moe__{name}", "moe", rows, ["dtype", "routing"] + differ(rows, ["kernel_source"]), EXPERT_AXES, "tokens", EXPERT_AXES[1:])
    for path, name in imported("b60/gemm", "gemm_perf.parquet"):
        tables.add(f"gemm__{name}", "gemm", rows_of(options.aiconfigurator, path, {"gemm_dtype": "dtype"}), ["dtype"], ["m", "n", "k"], "m", ["n", "k"])
    for system, file in [("b60/comm/oneccl", "oneccl_perf.parquet"), ("h100_sxm/comm/nccl", "nccl_perf.parquet"), ("b300_sxm/comm/nccl", "nccl_perf.parquet")]:
        for path, name in imported(system, file):
            rows = rows_of(options.aiconfigurator, path, COLLECTIVE)
            tables.add(f"collective__{name}", "collective", rows, ["collective", "dtype"], ["message_elements", "ranks"], "message_elements", ["ranks"])
    for model in MODELS:
        wide = rows_of(options.vidur, LAYERS.format(model), {"num_tokens": "tokens", "num_tensor_parallel_workers": "tp"})
        medians = {column: column.split(".")[1] for column in wide[0] if column.endswith(".median")}
        rows = [{"op": op, "tokens": row["tokens"], "tp": row["tp"], "time_ms": row[column]} for column, op in medians.items() for row in wide if float(row[column] or 0) > 0]
        tables.add(f"layers__h100__vidur-{model.split('/')[1]}", "layers", rows, ["op"], ["tokens", "tp"], "tokens", ["tp"], time="time_ms")
    rows = [row | {"tp": 1, "ep": 1} for path in TUNED_EXPERTS for row in rows_of(options.aiter, path, TUNED) if row["cu_num"] == "80"]
    group = ["q_dtype_a", "q_dtype_w", "q_type", "act_type", "use_g1u1", "doweight_stage1"]
    rows = first_of_each(rows, group + EXPERT_AXES)
    tables.add("moe__mi308x__aiter", "moe", rows, group, EXPERT_AXES, "tokens", EXPERT_AXES[1:], time="time_us")
    for name, paths in TUNED_PRODUCTS.items():
        rows = [row for path in paths for row in rows_of(options.aiter, path, {"M": "m", "N": "n", "K": "k", "us": "time_us"})]
        rows = [row for row in rows if row["gfx"] == "gfx950" and row["cu_num"] == "256" and float(row["time_us"]) > 0]
        rows = [row | {"dtype": row.get("q_dtype_w", "fp4" if name == "a4w4" else "fp8").replace("torch.float8_e4m3fn", "fp8")} for row in rows]
        tables.add(f"gemm__mi355x__aiter-{name}", "gemm", first_of_each(rows, ["dtype", "m", "n", "k"]), ["dtype"], ["m", "n", "k"], "m", ["n", "k"], time="time_us")


if __name__ == "__main__":
    main()
