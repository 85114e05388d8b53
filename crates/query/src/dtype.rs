//! What the readers of databases make of data types.

use perfdb_store::dtype::DType;

/// The spelling in rows that a call of this type can match; `None` where it matches no row.
#[inline]
pub(crate) fn profiler_name(dtype: DType) -> Option<&'static str> {
    match dtype {
        // The readers know one 16-bit float.
        DType::BFloat16 | DType::Float16 => Some("DT_BF16"),
        DType::Float32 => Some("FLOAT"),
        DType::Int8 => Some("INT8"),
        DType::Int32 => Some("INT32"),
        DType::Int64 => Some("INT64"),
        DType::Bool => Some("BOOL"),
        _ => None,
    }
}

/// The spelling of the very type in rows.
#[inline]
pub(crate) fn exact_name(dtype: DType) -> Option<&'static str> {
    Some(dtype.table_name())
}

/// 16-bit floats, as most rows spell them.
const HALF: &str = "DT_FLOAT16";

/// The one spelling of a type that rows spell with and without `DT_`.
#[inline]
pub(crate) fn one_spelling(name: &str) -> &str {
    match name {
        "FLOAT16" | HALF => HALF,
        "BF16" | "DT_BF16" => "DT_BF16",
        name => name.strip_prefix("DT_").unwrap_or(name),
    }
}

/// Equality of names of types: those of four to eight bytes, which nearly all are, are compared without a call.
#[inline]
pub(crate) fn is_same_name(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let ends = |name: &[u8]| Some((*name.first_chunk::<4>()?, *name.last_chunk::<4>()?));
    match (ends(a), ends(b)) {
        // Both ends are the whole name.
        (Some(ends), Some(others)) if a.len() <= 8 => a.len() == b.len() && ends == others,
        _ => a == b,
    }
}

/// Bytes per element.
#[inline]
pub(crate) fn size_bytes(dtype: DType) -> i64 {
    dtype.size_bytes() as i64
}

/// Whether it is one of the 8-bit integers and floats, whose products have elements of two bytes.
pub(crate) fn is_one_byte_number(dtype: DType) -> bool {
    dtype.size_bytes() == 1 && dtype != DType::Bool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_one_spelling_with_and_without_its_prefix() {
        for dtype in DType::ALL {
            let (Some(bare), Some(exact)) = (dtype.database_name(), exact_name(dtype)) else { continue };
            assert_eq!(one_spelling(bare), one_spelling(exact), "{bare}");
            assert_eq!(one_spelling(&format!("DT_{bare}")), one_spelling(exact), "{bare}");
        }
    }

    #[test]
    fn names_are_the_same_only_as_a_whole() {
        let names = [
            "",
            "a",
            "INT",
            "INT8",
            "INT4",
            "TNI8",
            "INT16",
            "INT64",
            "FLOAT",
            "FLAOT",
            "BOOL",
            "BOOLBOOL",
            "DT_BF16",
            "DT_FLOAT",
            "DT_INT32",
            "DT_FLOAT16",
            "DT_FLOAT17",
            "ET_FLOAT16",
            "DT_FLAAT16",
            "FLOAT8_E4M3FN",
        ];
        for a in names {
            for b in names {
                assert_eq!(is_same_name(a, b), a == b, "{a} {b}");
            }
        }
    }
}
