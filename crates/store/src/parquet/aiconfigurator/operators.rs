//! What the operators' columns mean as shapes and types.

use super::export::PREFIX;
use super::sizes::Sizes;
use super::source::SourceTable;
use crate::columns;
use crate::dtype::DType;
use crate::parquet::COMPUTE_COLUMNS;
use crate::parquet::error::Error;
use crate::registry::parts::{ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, COLLECTIVE_PREFIX, REDUCE_SCATTER};
use crate::registry::{KernelClass, Layout};
use std::collections::{BTreeMap, BTreeSet};

/// An operator whose tables are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Gemm,
    /// Of prompts and of single tokens: queries of `isl` tokens on `isl + step` keys.
    Attention {
        name: &'static str,
    },
    LatentAttention {
        name: &'static str,
    },
    /// Attention of images and the like: no cache, as many key heads as heads.
    EncoderAttention,
    LatentProducts,
    Experts,
    Nccl,
    CustomAllReduce,
    /// Any other: all its whole numbers are sizes, and its texts are part of the kernel type.
    Sized,
}

/// The two forms of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Compute,
    Collective,
}

/// Collectives: their name, the kernel type, and the operator that calls it.
pub(super) const COLLECTIVES: [(&str, &str, &str); 4] = [
    ("all_reduce", ALL_REDUCE, "tensor_cast.all_reduce.default"),
    ("all_gather", ALL_GATHER, "tensor_cast.all_gather.default"),
    ("reduce_scatter", REDUCE_SCATTER, "tensor_cast.reduce_scatter.default"),
    ("alltoall", ALL_TO_ALL, "tensor_cast.all_to_all.default"),
];

/// The tables say nothing about tiers.
const TIER: &str = "0";

impl Form {
    /// The cells of a row that say how long it took.
    pub(super) fn places_of_duration(self) -> &'static [usize] {
        match self {
            Form::Compute => &[6],
            Form::Collective => &[4, 5],
        }
    }

    pub(super) fn columns(self) -> &'static [&'static str] {
        match self {
            Form::Compute => &COMPUTE_COLUMNS,
            Form::Collective => &columns::COMMUNICATION,
        }
    }
}

/// Shapes and types of a call.
#[derive(Debug, Default)]
struct Case {
    inputs: Vec<(Vec<u64>, &'static str)>,
    output: (Vec<u64>, &'static str),
}

impl Operator {
    pub(super) fn of(name: &str) -> Operator {
        match name {
            "gemm" => Operator::Gemm,
            "context_attention" => Operator::Attention { name: "context_attention" },
            "generation_attention" => Operator::Attention { name: "generation_attention" },
            "context_mla" => Operator::LatentAttention { name: "context_mla" },
            "generation_mla" => Operator::LatentAttention { name: "generation_mla" },
            "encoder_attention" => Operator::EncoderAttention,
            "mla_bmm" => Operator::LatentProducts,
            "moe" => Operator::Experts,
            "nccl" => Operator::Nccl,
            "custom_allreduce" => Operator::CustomAllReduce,
            _ => Operator::Sized,
        }
    }

    /// What a table of its rows holds, and how the weights of products lie.
    pub(super) fn class(self, operator: &str) -> (KernelClass, Option<Layout>) {
        match self {
            Operator::Gemm => (KernelClass::MatMul, Some(Layout::KN)),
            Operator::Attention { name: "generation_attention" } => (KernelClass::DecodeAttention, None),
            Operator::Attention { .. } | Operator::EncoderAttention => (KernelClass::PrefillAttention, None),
            Operator::LatentAttention { .. } => (KernelClass::LatentAttention, None),
            Operator::Experts => (KernelClass::Experts, None),
            Operator::Nccl | Operator::CustomAllReduce => (KernelClass::Collective, None),
            Operator::Sized if operator.contains("scale") => (KernelClass::Quantize, None),
            Operator::Sized | Operator::LatentProducts => (KernelClass::Generic, None),
        }
    }

    pub(super) fn form(self) -> Form {
        match self {
            Operator::Nccl | Operator::CustomAllReduce => Form::Collective,
            _ => Form::Compute,
        }
    }

    /// The kernel type of each row. Where rows of one name come from several kernels, the kernel is part of it.
    pub(super) fn kernel_types(self, operator: &str, table: &SourceTable) -> Result<Vec<String>, Error> {
        let name = |row| match self {
            Operator::Sized => Sizes::name(operator, table, row),
            _ => self.name(table, row),
        };
        let names = (0..table.row_count()).map(name).collect::<Result<Vec<_>, _>>()?;
        if !table.has("kernel_source") {
            return Ok(names);
        }
        let sources = (0..names.len()).map(|row| table.text("kernel_source", row)).collect::<Result<Vec<_>, _>>()?;
        let mut of_name: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, source) in names.iter().zip(&sources) {
            of_name.entry(name).or_default().insert(source);
        }
        let full = |(name, source): (&String, &&str)| match of_name.get(name.as_str()).map_or(1, BTreeSet::len) {
            0 | 1 => name.clone(),
            _ => format!("{}_{}", name.trim_end_matches('_'), file_name_part(source)),
        };
        Ok(names.iter().zip(&sources).map(full).collect())
    }

    /// The name of a row, but for the kernel.
    pub(super) fn name(self, table: &SourceTable, row: usize) -> Result<String, Error> {
        let text = |column: &str| table.text(column, row).map(file_name_part);
        Ok(match self {
            Operator::Gemm => format!("gemm_{}", text("gemm_dtype")?),
            Operator::Attention { name } => {
                let window = if table.has("window_size") { table.size("window_size", row)? } else { 0 };
                let window = if window > 0 { format!("_window{window}") } else { String::new() };
                format!("{name}_{}_kv_{}{window}", text("attn_dtype")?, text("kv_cache_dtype")?)
            }
            Operator::EncoderAttention => format!("encoder_attention_{}", text("attn_dtype")?),
            Operator::LatentAttention { name } => {
                format!("{name}_{}_kv_{}", text("mla_dtype")?, text("kv_cache_dtype")?)
            }
            Operator::LatentProducts => format!("{}_{}", text("op_name")?, text("bmm_dtype")?),
            Operator::Experts => format!("moe_{}_{}", text("moe_dtype")?, text("distribution")?),
            Operator::CustomAllReduce => ALL_REDUCE.to_owned(),
            Operator::Sized => String::new(),
            Operator::Nccl => {
                let theirs = table.text("op_name", row)?;
                match COLLECTIVES.iter().find(|collective| collective.0 == theirs) {
                    Some((_, kernel_type, _)) => (*kernel_type).to_owned(),
                    None => format!("{COLLECTIVE_PREFIX}{}_", file_name_part(theirs)),
                }
            }
        })
    }

    /// The columns of a table of its rows.
    pub(super) fn header(self, table: &SourceTable) -> Vec<String> {
        let form = self.form();
        let own = form.columns().iter().copied().map(str::to_owned);
        let deviation = (form == Form::Compute).then(|| super::DEVIATION.to_owned());
        let more = self.more_columns().iter().map(|(name, _)| (*name).to_owned());
        // Tables of collectives have no other columns than their own.
        let theirs = table.columns().filter(|_| form == Form::Compute).map(|name| format!("{PREFIX}{name}"));
        own.chain(deviation).chain(more).chain(theirs).collect()
    }

    /// Columns between perfdb's and theirs, with the column of theirs that fills each: what a call depends on beside shapes and types.
    pub(super) fn more_columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Operator::Experts => &[(columns::EP_SIZE, "moe_ep_size")],
            _ => &[],
        }
    }

    /// The cells of a compute table's columns, in their order.
    pub(super) fn compute_cells(
        self,
        table: &SourceTable,
        sizes: &Sizes,
        row: usize,
        duration_us: f64,
    ) -> Result<Vec<String>, Error> {
        let case = match self {
            Operator::Sized => {
                let call = (sizes.shape(table, row)?, sizes.dtype(table, row)?);
                Case { inputs: vec![call.clone()], output: call }
            }
            _ => self.case(table, row)?,
        };
        let join = |cells: Vec<String>| cells.join(";");
        let shape = |shape: &[u64]| shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let formats = vec!["ND".to_owned(); case.inputs.len()];
        let mut cells = vec![
            join(case.inputs.iter().map(|(dimensions, _)| shape(dimensions)).collect()),
            join(case.inputs.iter().map(|(_, dtype)| (*dtype).to_owned()).collect()),
            join(formats),
            shape(&case.output.0),
            case.output.1.to_owned(),
            "ND".to_owned(),
            duration_us.to_string(),
            String::new(),
        ];
        for (_, theirs) in self.more_columns() {
            cells.push(table.size(theirs, row)?.to_string());
        }
        Ok(cells)
    }

    fn case(self, table: &SourceTable, row: usize) -> Result<Case, Error> {
        let size = |column: &str| table.size(column, row);
        let text = |column: &str| table.text(column, row);
        Ok(match self {
            Operator::Gemm => {
                let (m, n, k) = (size("m")?, size("n")?, size("k")?);
                let (activation, weight) = types(text("gemm_dtype")?);
                Case { inputs: vec![(vec![m, k], activation), (vec![k, n], weight)], output: (vec![m, n], "DT_BF16") }
            }
            Operator::Attention { .. } => {
                let (batch, queries, width) = (size("batch_size")?, size("isl")?, size("head_dim")?);
                let (heads, keys) = (size("num_heads")?, keys(table, row)?);
                // 0 stands for as many as there are heads.
                let key_heads = Some(size("num_key_value_heads")?).filter(|heads| *heads > 0).unwrap_or(heads);
                let (query, cache) = (types(text("attn_dtype")?).0, types(text("kv_cache_dtype")?).0);
                let cache = (vec![batch, keys, key_heads, width], cache);
                let query = (vec![batch, queries, heads, width], query);
                let output = (query.0.clone(), "DT_BF16");
                Case { inputs: vec![query, cache.clone(), cache], output }
            }
            Operator::EncoderAttention => {
                let query = vec![size("batch_size")?, size("isl")?, size("num_heads")?, size("head_dim")?];
                let query = (query, types(text("attn_dtype")?).0);
                let output = (query.0.clone(), "DT_BF16");
                Case { inputs: vec![query.clone(), query.clone(), query], output }
            }
            Operator::LatentAttention { .. } => {
                let (batch, queries, heads) = (size("batch_size")?, size("isl")?, size("num_heads")?);
                let (query, cache) = (types(text("mla_dtype")?).0, types(text("kv_cache_dtype")?).0);
                let keys = (vec![batch, keys(table, row)?], cache);
                let query = (vec![batch, queries, heads], query);
                let output = (query.0.clone(), "DT_BF16");
                Case { inputs: vec![query, keys], output }
            }
            Operator::LatentProducts => {
                let dimensions = vec![size("num_heads")?, size("num_tokens")?];
                let dtype = types(text("bmm_dtype")?).0;
                Case { inputs: vec![(dimensions.clone(), dtype)], output: (dimensions, "DT_BF16") }
            }
            Operator::Experts => {
                let (tokens, hidden, top_k) = (size("num_tokens")?, size("hidden_size")?, size("topk")?);
                // What one device holds.
                let share = |all: u64, parts: u64| all.div_ceil(parts.max(1));
                let experts = share(size("num_experts")?, size("moe_ep_size")?);
                let inner = share(size("inter_size")?, size("moe_tp_size")?);
                let (activation, weight) = types(text("moe_dtype")?);
                Case {
                    inputs: vec![
                        (vec![tokens, hidden], activation),
                        (vec![experts, hidden, inner], weight),
                        (vec![tokens, top_k], "INT32"),
                    ],
                    output: (vec![tokens, hidden], "DT_BF16"),
                }
            }
            Operator::Nccl | Operator::CustomAllReduce | Operator::Sized => Case::default(),
        })
    }

    /// The cells of a collective's columns, in their order. Sizes are elements there, of all devices together where each has a part of the
    /// result; here they are bytes of one device.
    pub(super) fn collective_cells(
        self,
        table: &SourceTable,
        row: usize,
        duration_us: f64,
    ) -> Result<Vec<String>, Error> {
        let column = if self == Operator::Nccl { "nccl_dtype" } else { "allreduce_dtype" };
        let (dtype, bytes_each) = match types(table.text(column, row)?).0 {
            "DT_FLOAT" => ("DT_FLOAT", 4),
            "DT_BF16" => ("DT_BF16", 2),
            "FLOAT16" => ("DT_FP16", 2),
            "INT8" => ("DT_INT8", 1),
            other => (other, 1),
        };
        let devices = table.size("num_gpus", row)?;
        let elements = table.size("message_size", row)?;
        let bytes = elements
            .checked_mul(bytes_each)
            .ok_or_else(|| table.unfit("message_size", row, &elements.to_string(), "more than any message has"))?;
        let is_shared = matches!(table.text("op_name", row)?, "all_gather" | "reduce_scatter");
        let bytes = if is_shared { bytes / devices.max(1) } else { bytes };
        Ok(vec![
            bytes.to_string(),
            devices.to_string(),
            dtype.to_owned(),
            TIER.to_owned(),
            duration_us.to_string(),
            bandwidth(bytes as f64, duration_us),
        ])
    }
}

/// GB/s with two decimals.
pub(super) fn bandwidth(bytes: f64, duration_us: f64) -> String {
    let gigabytes = bytes / duration_us / 1e3;
    ((gigabytes * 100.0).round() / 100.0).to_string()
}

/// Keys that the queries of a call attend to: what stands before them, and they themselves.
fn keys(table: &SourceTable, row: usize) -> Result<u64, Error> {
    let (queries, before) = (table.size("isl", row)?, table.size("step", row)?);
    let reason = "more than any sequence has";
    queries.checked_add(before).ok_or_else(|| table.unfit("step", row, &before.to_string(), reason))
}

/// Types of activations and weights, as tables spell them. What names a whole scheme stands for the types that it computes on.
pub(super) fn types(name: &str) -> (&'static str, &'static str) {
    let one = match name {
        "float32" | "float" => DType::Float32,
        "float16" | "half" => DType::Float16,
        "int8" => DType::Int8,
        name if name.starts_with("fp8") => DType::Float8E4M3Fn,
        _ => DType::BFloat16,
    };
    let [activation, weight] = DType::of_scheme(name).unwrap_or([one; 2]);
    (spelled(activation), spelled(weight))
}

fn spelled(dtype: DType) -> &'static str {
    match dtype {
        DType::BFloat16 => "DT_BF16",
        DType::Float32 => "DT_FLOAT",
        other => other.database_name().unwrap_or(other.name()),
    }
}

/// A text as part of a file's name.
pub(super) fn file_name_part(text: &str) -> String {
    let part: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    part.trim_matches(['_', '.']).to_owned()
}
