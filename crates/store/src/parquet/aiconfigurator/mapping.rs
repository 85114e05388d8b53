//! The mapping of a database directory: which tables answer the operators of models, and what each table is.

use super::Choices;
use super::operators::COLLECTIVES;
use crate::registry::parts::ALL_REDUCE;
use crate::registry::{KERNEL_TABLES, TableType};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Operators that change how a tensor is seen and run no kernel.
const VIEWS: [&str; 14] = [
    "aten._unsafe_view.default",
    "aten.alias.default",
    "aten.detach.default",
    "aten.expand.default",
    "aten.permute.default",
    "aten.select.int",
    "aten.slice.Tensor",
    "aten.split.Tensor",
    "aten.split_with_sizes.default",
    "aten.squeeze.dim",
    "aten.t.default",
    "aten.transpose.int",
    "aten.unsqueeze.default",
    "aten.view.default",
];

/// Products: the operator, that of it with the sum over ranks behind it, and the names of tables by how well they fit.
const PRODUCTS: [(&str, &str, &[&str]); 5] = [
    ("aten.mm.default", "tensor_cast.matmul_all_reduce.default", &["gemm_bfloat16", "gemm_float16"]),
    (
        "tensor_cast.fp8_linear.default",
        "tensor_cast.fp8_linear_all_reduce.default",
        &["gemm_fp8", "gemm_fp8_static", "gemm_fp8_block"],
    ),
    (
        "tensor_cast.static_quant_linear.default",
        "tensor_cast.static_quant_linear_all_reduce.default",
        &["gemm_int8", "gemm_sq"],
    ),
    (
        "tensor_cast.static_quant_linear_int4.default",
        "tensor_cast.static_quant_linear_int4_all_reduce.default",
        &["gemm_int4_wo"],
    ),
    ("tensor_cast.mxfp4_linear.default", "tensor_cast.mxfp4_linear_all_reduce.default", &["gemm_mxfp4", "gemm_nvfp4"]),
];

/// Attention: the operator, and the beginnings of the names of tables of prompts and of single tokens.
const ATTENTION: [(&str, [&str; 2]); 4] = [
    (
        "tensor_cast.attention.default",
        ["generation_attention_bfloat16_kv_bfloat16", "context_attention_bfloat16_kv_bfloat16"],
    ),
    ("tensor_cast.attention_quant.default", ["generation_attention_fp8_kv_fp8", "context_attention_fp8_kv_fp8"]),
    (
        "tensor_cast.multihead_latent_attention.default",
        ["generation_mla_bfloat16_kv_bfloat16", "context_mla_bfloat16_kv_bfloat16"],
    ),
    ("tensor_cast.multihead_latent_attention_quant.default", ["generation_mla_fp8_kv_fp8", "context_mla_fp8_kv_fp8"]),
];

/// Experts: the operator and the types of tables.
const EXPERTS: [(&str, &[&str]); 5] = [
    ("tensor_cast.dispatch_ffn_combine.default", &["moe_bfloat16", "moe_float16"]),
    ("tensor_cast.dispatch_ffn_combine_quant.default", &["moe_int8", "moe_sq"]),
    ("tensor_cast.dispatch_ffn_combine_quant_int4.default", &["moe_int4_wo", "moe_w4afp8"]),
    ("tensor_cast.dispatch_ffn_combine_fp8.default", &["moe_fp8", "moe_fp8_block"]),
    ("tensor_cast.dispatch_ffn_combine_mxfp4.default", &["moe_w4a8_mxfp4_mxfp8", "moe_w4a16_mxfp4", "moe_nvfp4"]),
];
/// Routings of experts, that of a server under load first.
const ROUTINGS: [&str; 4] = ["power_law_1.01", "power_law_1.2", "balanced", "uniform"];

/// The text of a mapping.
pub(super) fn mapping(directory: &Path, tables: &BTreeMap<&str, &TableType>, choices: Choices) -> String {
    let device = directory.ancestors().nth(2).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let mut text = format!(
        "# Made by import-database of tables of AIConfigurator.\nversion: \"1.0\"\ndevice: {device}\noperator_mappings:\n"
    );
    let mut entry = |operator: &str, names: &[&str], more: &str| {
        let Some((first, others)) = names.split_first() else { return };
        let _ = write!(text, "  {operator}:\n    kernel_type: {first}\n{more}");
        if !others.is_empty() {
            let _ = writeln!(text, "    alternate_kernel_types: [{}]", others.join(", "));
        }
    };
    // Those of a name, which come from one kernel, or with the kernel behind it.
    let named = |name: &str| -> Vec<&str> {
        let behind = |table: &&str| table.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_kernel(rest));
        tables.keys().copied().filter(behind).collect()
    };
    let first_named =
        |names: &[&str]| names.iter().map(|name| named(name)).find(|found| !found.is_empty()).unwrap_or_default();
    let reduce = collective(tables, ALL_REDUCE, choices);
    let mut sums = String::new();
    for (operator, with_sum, names) in PRODUCTS {
        let found = first_named(names);
        entry(operator, &found, "    tc_input_count: 2\n");
        if let (Some(product), Some(reduce)) = (found.first(), reduce) {
            let _ = write!(
                sums,
                "  {with_sum}:\n    composite: true\n    tc_input_count: 2\n    sub_kernels: [{product}, {reduce}]\n"
            );
        }
    }
    for (operator, names) in ATTENTION {
        let found: Vec<&str> = names.iter().flat_map(|name| named(name)).collect();
        entry(operator, &found, "    query_mode: attention_special\n");
    }
    for (operator, names) in EXPERTS {
        let of_routing =
            |routing: &&str| names.iter().flat_map(|name| named(&format!("{name}_{routing}"))).collect::<Vec<_>>();
        let found = ROUTINGS.iter().map(of_routing).find(|found| !found.is_empty()).unwrap_or_default();
        entry(operator, &found, "    query_mode: moe_fused\n");
    }
    for (_, kernel_type, operator) in COLLECTIVES {
        if let Some(name) = collective(tables, kernel_type, choices) {
            entry(operator, &[name], "    category: communication\n");
        }
    }
    text.push_str(&sums);
    for operator in VIEWS {
        let _ = write!(text, "  {operator}:\n    zero_cost: true\n");
    }
    let _ = writeln!(text, "{KERNEL_TABLES}:");
    for (name, kind) in tables {
        let _ = writeln!(text, "  {name}: {}", kind.description());
    }
    text
}

/// Whether what stands behind a name is the kernel that was measured, and not another type, window or routing.
fn is_kernel(rest: &str) -> bool {
    const OTHERS: [&str; 5] = ["window", "static", "block", "wo", "kv"];
    rest.strip_prefix('_').is_some_and(|rest| !OTHERS.iter().any(|other| rest.starts_with(other)))
}

/// The table of a collective. Servers capture their steps as graphs, where the same collective takes a third of the time.
fn collective<'t>(tables: &BTreeMap<&'t str, &TableType>, prefix: &str, choices: Choices) -> Option<&'t str> {
    let named = || tables.keys().copied().filter(|name| name.starts_with(prefix));
    let wanted = if choices.is_eager { "_eager" } else { "_graph" };
    named().find(|name| name.ends_with(wanted)).or_else(|| named().next())
}
