//! Data types of elements as PyTorch's profiler names them, and what units compute them in.

use crate::roofline::Precision;
use perfdb_store::dtype::DType;

/// The type of a name: `c10::BFloat16`, `float`, `long int`, in any case; `None` for numbers that are not tensors. Floats of 8 bits are one
/// type here, and integers of 8 bits with and without sign.
pub(crate) fn of_name(name: &str) -> Option<DType> {
    let lower = name.to_ascii_lowercase();
    let plain = lower.rsplit("::").next().unwrap_or(&lower);
    Some(match plain {
        "double" | "float64" => DType::Float64,
        "float" | "float32" => DType::Float32,
        "half" | "float16" => DType::Float16,
        "bfloat16" => DType::BFloat16,
        "long" | "long int" | "int64" | "long long" => DType::Int64,
        "int" | "int32" => DType::Int32,
        "short" | "short int" | "int16" => DType::Int16,
        "char" | "signed char" | "unsigned char" | "byte" | "int8" | "uint8" => DType::Int8,
        "bool" => DType::Bool,
        _ if plain.starts_with("float8") => DType::Float8E4M3Fn,
        _ if plain.starts_with("float4") => DType::Float4E2M1FnX2,
        _ => return None,
    })
}

/// A short name: `bfloat16`, `float8`, `int64`.
pub(crate) fn name(dtype: DType) -> &'static str {
    match dtype {
        DType::Float4E2M1FnX2 => "float4",
        dtype if dtype.is_float8() => "float8",
        dtype => dtype.name(),
    }
}

/// Bytes of an element.
pub(crate) fn bytes(dtype: DType) -> f64 {
    dtype.size_bytes() as f64
}

/// What the matrix units are asked for; `None` where they have no such type.
pub(crate) fn matrix_precision(dtype: DType) -> Option<Precision> {
    Some(match dtype {
        DType::Float64 => Precision::Fp64,
        DType::Float32 => Precision::Fp32,
        DType::Float16 => Precision::Fp16,
        DType::BFloat16 => Precision::Bf16,
        DType::Float4E2M1FnX2 => Precision::Fp4,
        DType::Int8 | DType::UInt8 => Precision::Int8,
        DType::Int4 => Precision::Int4,
        dtype if dtype.is_float8() => Precision::Fp8,
        _ => return None,
    })
}

/// What the other units compute in: 32 bits for anything stored, and 64 where that is asked for.
pub(crate) fn vector_precision(dtype: DType) -> Precision {
    if dtype == DType::Float64 { Precision::Fp64 } else { Precision::Fp32 }
}

/// Rank in promotion: floating before integer before Boolean.
fn category(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        dtype if dtype.is_float() => 2,
        _ => 1,
    }
}

/// The type of the result of two tensors.
pub(crate) fn promoted(one: DType, other: DType) -> DType {
    let key = |dtype: DType| (category(dtype), dtype.size_bytes());
    match (one, other) {
        (DType::Float16, DType::BFloat16) | (DType::BFloat16, DType::Float16) => DType::Float32,
        _ if key(other) > key(one) => other,
        _ => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_spellings_are_known() {
        for (name, size) in [
            ("c10::BFloat16", 2.0),
            ("c10::bfloat16", 2.0),
            ("BFloat16", 2.0),
            ("float", 4.0),
            ("Float", 4.0),
            ("c10::Half", 2.0),
            ("c10::Float8_e4m3fnuz", 1.0),
            ("c10::Float4_e2m1fn_x2", 1.0),
            ("long int", 8.0),
            ("unsigned char", 1.0),
            ("bool", 1.0),
        ] {
            assert_eq!(of_name(name).map(bytes), Some(size), "{name}");
        }
        assert_eq!(of_name("Scalar"), None);
        assert_eq!(of_name(""), None);
    }

    #[test]
    fn floating_types_win_over_wider_integers() {
        assert_eq!(promoted(DType::Int64, DType::Float16), DType::Float16);
        assert_eq!(promoted(DType::Float16, DType::Float32), DType::Float32);
        assert_eq!(promoted(DType::Float16, DType::BFloat16), DType::Float32);
        assert_eq!(promoted(DType::Bool, DType::Int32), DType::Int32);
    }
}
