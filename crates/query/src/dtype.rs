//! What the readers of databases make of data types.

use perfdb_dtype::DType;

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

/// Bytes per element.
#[inline]
pub(crate) fn size_bytes(dtype: DType) -> i64 {
    dtype.size_bytes() as i64
}

/// Whether it is one of the 8-bit integers and floats, whose products have elements of two bytes.
pub(crate) fn is_one_byte_number(dtype: DType) -> bool {
    dtype.size_bytes() == 1 && dtype != DType::Bool
}
