//! What the types are called, and their sizes.

use crate::dtype::DType;

/// One type.
pub(crate) struct Row {
    pub(crate) dtype: DType,
    /// PyTorch's name.
    pub(crate) name: &'static str,
    pub(crate) short: &'static str,
    /// The profiler's name without `DT_`.
    pub(crate) database: Option<&'static str>,
    /// Other spellings; those in capitals with and without `DT_`.
    others: &'static [&'static str],
    pub(crate) size_bytes: usize,
}

const fn row(
    dtype: DType,
    name: &'static str,
    short: &'static str,
    database: Option<&'static str>,
    others: &'static [&'static str],
    size_bytes: usize,
) -> Row {
    Row { dtype, name, short, database, others, size_bytes }
}

/// The types in the order of the enum.
#[rustfmt::skip]
pub(crate) const TABLE: [Row; 22] = [
    row(DType::Float32, "float32", "fp32", Some("FLOAT"), &["float", "FLOAT32"], 4),
    row(DType::Float16, "float16", "fp16", Some("FLOAT16"), &["half", "FP16"], 2),
    row(DType::BFloat16, "bfloat16", "bf16", Some("BF16"), &["BFLOAT16"], 2),
    row(DType::Float64, "float64", "fp64", Some("DOUBLE"), &["double", "FLOAT64"], 8),
    row(DType::Int8, "int8", "int8", Some("INT8"), &[], 1),
    row(DType::UInt8, "uint8", "uint8", Some("UINT8"), &[], 1),
    row(DType::Int16, "int16", "int16", Some("INT16"), &["short"], 2),
    row(DType::Int32, "int32", "int32", Some("INT32"), &["int"], 4),
    row(DType::Int64, "int64", "int64", Some("INT64"), &["long"], 8),
    row(DType::Bool, "bool", "bool", Some("BOOL"), &[], 1),
    row(DType::Float8E4M3Fn, "float8_e4m3fn", "fp8_e4m3", Some("FLOAT8_E4M3FN"), &["fp8", "e4m3", "FLOAT8_E4M3", "FLOAT8"], 1),
    row(DType::Float8E5M2, "float8_e5m2", "fp8_e5m2", Some("FLOAT8_E5M2"), &["e5m2"], 1),
    row(DType::Float8E4M3Fnuz, "float8_e4m3fnuz", "fp8_e4m3fnuz", None, &[], 1),
    row(DType::Float8E5M2Fnuz, "float8_e5m2fnuz", "fp8_e5m2fnuz", None, &[], 1),
    row(DType::Float8E8M0Fnu, "float8_e8m0fnu", "fp8_e8m0", Some("FLOAT8_E8M0"), &["float8_e8m0"], 1),
    row(DType::Float4E2M1FnX2, "float4_e2m1fn_x2", "fp4", Some("FLOAT4_E2M1"), &["e2m1", "float4_e2m1", "float4_e2m1fn", "mxfp4", "nvfp4"], 1),
    row(DType::Int4, "int4", "int4", Some("INT4"), &["quint4x2"], 1),
    row(DType::UInt16, "uint16", "uint16", Some("UINT16"), &[], 2),
    row(DType::UInt32, "uint32", "uint32", Some("UINT32"), &[], 4),
    row(DType::UInt64, "uint64", "uint64", Some("UINT64"), &[], 8),
    row(DType::Complex64, "complex64", "complex64", Some("COMPLEX64"), &["cfloat"], 8),
    row(DType::Complex128, "complex128", "complex128", Some("COMPLEX128"), &["cdouble"], 16),
];

/// The type of a name in any of its spellings.
pub(crate) fn find(text: &str) -> Option<DType> {
    let short = text.strip_prefix("torch.").unwrap_or(text);
    let bare = text.strip_prefix("DT_");
    let is = |row: &&Row| match bare {
        Some(bare) => row.database == Some(bare) || row.others.contains(&bare) && is_capital(bare),
        None => row.name == short || row.short == short || row.database == Some(text) || row.others.contains(&short),
    };
    TABLE.iter().find(is).map(|row| row.dtype)
}

fn is_capital(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_where_their_types_do() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.dtype as usize, at, "{}", row.name);
        }
    }

    #[test]
    fn no_two_types_share_a_name() {
        let mut names: Vec<&str> = Vec::new();
        for row in &TABLE {
            let mut own: Vec<&str> = [row.name, row.short].into_iter().chain(row.database).collect();
            own.extend(row.others);
            own.dedup();
            for name in own {
                assert!(!names.contains(&name), "{name}");
            }
            names.extend([row.name, row.short].into_iter().chain(row.database).chain(row.others.iter().copied()));
        }
    }

    #[test]
    fn spellings_in_small_letters_take_no_prefix_of_the_profiler() {
        assert_eq!(find("DT_half"), None);
        assert_eq!(find("torch.half"), Some(DType::Float16));
    }
}
