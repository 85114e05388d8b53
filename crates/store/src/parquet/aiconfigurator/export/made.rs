//! Tables of other databases: their columns are made of shapes and types.

use super::super::operators::{COLLECTIVES, file_name_part, types};
use super::super::source::{LATENCY_STD, SourceTable};
use super::{Place, deviation, duration_us, milliseconds};
use crate::columns;
use crate::dtype::DType;
use crate::registry::parts::{ALL_REDUCE, COLLECTIVE_PREFIX, is_shared};
use crate::registry::{KernelClass, Layout, TableType};
use crate::slots::{dimensions, normal_shape, split};
use crate::table::Table;

/// What the rows of a table are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    Product,
    Attention,
    /// The collective's name there, and whether its sizes are those of all devices together.
    Collective {
        name: String,
        is_shared: bool,
        dtype: &'static str,
    },
}

/// Names of types there, those first that stand for nothing more than the types.
const TYPES: [&str; 9] =
    ["bfloat16", "float16", "fp8", "int8_wo", "int4_wo", "nvfp4", "w4afp8", "w4a16_mxfp4", "w4a8_mxfp4_mxfp8"];

/// Types of messages: as tables of collectives name them, and there.
const MESSAGES: [(&str, &str, u64); 5] = [
    ("DT_BF16", "bfloat16", 2),
    ("DT_FP16", "half", 2),
    ("DT_FLOAT", "float32", 4),
    ("DT_INT8", "int8", 1),
    ("FLOAT8_E4M3FN", "fp8", 1),
];

/// A row's cells by column, before those of its duration.
type Cells = Vec<(&'static str, String)>;

impl Made {
    /// The operator of a table there.
    pub(super) fn of(name: &str, kind: &TableType, framework: &str) -> Option<(&'static str, Made)> {
        Some(match kind.class {
            KernelClass::MatMul => ("gemm", Made::Product),
            KernelClass::PrefillAttention => ("context_attention", Made::Attention),
            KernelClass::DecodeAttention => ("generation_attention", Made::Attention),
            KernelClass::Collective => collective(name, framework)?,
            _ => return None,
        })
    }

    /// The rows that fit.
    pub(super) fn rows(&self, operator: &str, kind: &TableType, table: &Table, place: &Place) -> SourceTable {
        let name = table.path().file_stem().unwrap_or_default().to_string_lossy();
        let source = kind.source.clone().unwrap_or_else(|| file_name_part(&name));
        let op_name = match self {
            Made::Collective { name, .. } => name,
            _ => operator,
        };
        let first = [
            ("framework", place.framework.to_uppercase()),
            ("version", place.version.clone()),
            ("device", place.system.clone()),
            ("op_name", op_name.to_owned()),
            ("kernel_source", source),
        ];
        let mut rows = SourceTable::default();
        for row in 0..table.row_count() {
            let Some(us) = duration_us(table, row) else { continue };
            let cells = match self {
                Made::Product => product(kind, table, row),
                Made::Attention => attention(kind, table, row),
                Made::Collective { is_shared, dtype, .. } => message(*is_shared, dtype, table, row),
            };
            let Some(cells) = cells else { continue };
            let last = [("latency", milliseconds(us).to_string()), (LATENCY_STD, deviation(table, row))];
            rows.push_row(first.iter().cloned().chain(cells).chain(last));
        }
        rows.without_empty(LATENCY_STD)
    }
}

/// The collective that a table is of. AIConfigurator takes those of a framework for sums alone, and all others from the library's folder.
fn collective(name: &str, framework: &str) -> Option<(&'static str, Made)> {
    let known = COLLECTIVES.iter().find(|(_, kernel_type, _)| name.starts_with(kernel_type.trim_end_matches('_')));
    let theirs = known.map(|(theirs, ..)| (*theirs).to_owned()).or_else(|| {
        let name = name.strip_prefix(COLLECTIVE_PREFIX)?;
        Some(name.trim_end_matches('_').to_owned())
    })?;
    let is_shared = is_shared(name);
    let is_library = name.ends_with("_nccl") || framework == "nccl";
    let is_sum = name.starts_with(ALL_REDUCE.trim_end_matches('_'));
    match (is_library, is_sum) {
        (true, _) => Some(("nccl", Made::Collective { name: theirs, is_shared, dtype: "nccl_dtype" })),
        (false, true) => {
            Some(("custom_allreduce", Made::Collective { name: theirs, is_shared, dtype: "allreduce_dtype" }))
        }
        (false, false) => None,
    }
}

/// Shapes and types of a row's inputs.
fn inputs(table: &Table, row: usize) -> Option<Vec<(Vec<u64>, DType)>> {
    let cell = |name: &str| table.column(name).map(|column| table.cell(row, column));
    let (shapes, types) = (split(cell(columns::INPUT_SHAPES)?), split(cell(columns::INPUT_TYPES)?));
    let input = |(shape, dtype): (&&str, &&str)| {
        let sizes = dimensions(&normal_shape(shape))?;
        let sizes = sizes.into_iter().map(|size| u64::try_from(size).ok()).collect::<Option<Vec<u64>>>()?;
        Some((sizes, DType::from_database(dtype)?))
    };
    shapes.iter().zip(&types).map(input).collect()
}

/// The name of a pair of types there.
fn name_of(activation: DType, weight: DType) -> Option<&'static str> {
    TYPES.into_iter().find(|name| {
        let (own, of_weight) = types(name);
        DType::from_database(own) == Some(activation) && DType::from_database(of_weight) == Some(weight)
    })
}

fn product(kind: &TableType, table: &Table, row: usize) -> Option<Cells> {
    let inputs = inputs(table, row)?;
    let [(left, activation), (right, weight), ..] = inputs.as_slice() else { return None };
    let (inner, rows) = left.split_last()?;
    let &[first, second] = right.as_slice() else { return None };
    let columns = match kind.layout {
        Some(Layout::KN) => (first == *inner).then_some(second),
        Some(Layout::NK) => (second == *inner).then_some(first),
        None if first == *inner => Some(second),
        None => (second == *inner).then_some(first),
    }?;
    let rows: u64 = rows.iter().product();
    Some(vec![
        ("gemm_dtype", name_of(*activation, *weight)?.to_owned()),
        ("m", rows.to_string()),
        ("n", columns.to_string()),
        ("k", inner.to_string()),
    ])
}

fn attention(kind: &TableType, table: &Table, row: usize) -> Option<Cells> {
    let inputs = inputs(table, row)?;
    let [(query, dtype), (key, cache), ..] = inputs.as_slice() else { return None };
    let (&[batch, queries, heads, width], &[same_batch, keys, key_heads, same_width]) = (&**query, &**key) else {
        return None;
    };
    if batch != same_batch || width != same_width {
        return None;
    }
    let before = keys.checked_sub(queries)?;
    Some(vec![
        ("batch_size", batch.to_string()),
        ("isl", queries.to_string()),
        ("num_heads", heads.to_string()),
        ("num_key_value_heads", key_heads.to_string()),
        ("head_dim", width.to_string()),
        ("beam_width", "1".to_owned()),
        ("attn_dtype", name_of(*dtype, *dtype)?.to_owned()),
        ("kv_cache_dtype", name_of(*cache, *cache)?.to_owned()),
        ("step", before.to_string()),
        ("window_size", kind.window.unwrap_or(0).to_string()),
    ])
}

fn message(is_shared: bool, dtype: &'static str, table: &Table, row: usize) -> Option<Cells> {
    let [bytes, devices, name, ..] = columns::COMMUNICATION.map(|name| table.column(name));
    let (bytes, devices): (u64, u64) =
        (table.cell(row, bytes?).trim().parse().ok()?, table.cell(row, devices?).trim().parse().ok()?);
    let name = table.cell(row, name?).trim();
    let (_, theirs, size) = MESSAGES.iter().find(|(own, ..)| *own == name)?;
    let elements = if is_shared { bytes.checked_mul(devices)? } else { bytes } / size;
    Some(vec![(dtype, (*theirs).to_owned()), ("num_gpus", devices.to_string()), ("message_size", elements.to_string())])
}
