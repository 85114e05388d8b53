//! Data types of tensors, as frameworks and as profilers name them.

use std::fmt;
use std::str::FromStr;

/// The data type of a tensor of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum DType {
    Bf16,
    Fp16,
    Fp32,
    Fp64,
    Fp8E4m3,
    Fp8E5m2,
    Fp8E8m0,
    Fp4,
    Int4,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Bool,
}

/// Every type: short name, name in the framework, other spellings, bytes per element.
const TYPES: [(DType, &str, &str, &[&str], i64); 15] = [
    (DType::Bf16, "bf16", "bfloat16", &["DT_BF16", "BF16"], 2),
    (DType::Fp16, "fp16", "float16", &["half", "DT_FLOAT16", "FLOAT16"], 2),
    (DType::Fp32, "fp32", "float32", &["float", "FLOAT", "DT_FLOAT", "FLOAT32"], 4),
    (DType::Fp64, "fp64", "float64", &["double", "DOUBLE", "DT_DOUBLE"], 8),
    (DType::Fp8E4m3, "fp8_e4m3", "float8_e4m3fn", &["fp8", "float8_e4m3fnuz"], 1),
    (DType::Fp8E5m2, "fp8_e5m2", "float8_e5m2", &["float8_e5m2fnuz"], 1),
    (DType::Fp8E8m0, "fp8_e8m0", "float8_e8m0fnu", &[], 1),
    (DType::Fp4, "fp4", "float4_e2m1fn_x2", &[], 1),
    (DType::Int4, "int4", "int4", &["quint4x2", "DT_INT4", "INT4"], 1),
    (DType::Int8, "int8", "int8", &["INT8", "DT_INT8"], 1),
    (DType::Int16, "int16", "int16", &["short", "INT16", "DT_INT16"], 2),
    (DType::Int32, "int32", "int32", &["int", "INT32", "DT_INT32"], 4),
    (DType::Int64, "int64", "int64", &["long", "INT64", "DT_INT64"], 8),
    (DType::Uint8, "uint8", "uint8", &["UINT8", "DT_UINT8"], 1),
    (DType::Bool, "bool", "bool", &["BOOL", "DT_BOOL"], 1),
];

impl DType {
    /// The profiler's spelling; `None` where no call of this type matches a row.
    #[inline]
    pub fn profiler_name(self) -> Option<&'static str> {
        match self {
            DType::Bf16 | DType::Fp16 => Some("DT_BF16"),
            DType::Fp32 => Some("FLOAT"),
            DType::Int8 => Some("INT8"),
            DType::Int32 => Some("INT32"),
            DType::Int64 => Some("INT64"),
            DType::Bool => Some("BOOL"),
            _ => None,
        }
    }

    /// Bytes per element as the framework counts them; packed types have one.
    pub fn bytes(self) -> i64 {
        TYPES.iter().find(|entry| entry.0 == self).map_or(1, |entry| entry.4)
    }

    /// Whether it is one of the 8-bit integers and floats, whose products have elements of two bytes.
    pub(crate) fn is_one_byte_number(self) -> bool {
        self.bytes() == 1 && self != DType::Bool
    }

    /// The short name, `bf16`.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|entry| entry.0 == self).map_or("", |entry| entry.1)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is no data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown data type {0:?}")]
pub struct UnknownDType(String);

impl FromStr for DType {
    type Err = UnknownDType;

    /// Reads a short name (`bf16`), the framework's (`bfloat16`, `torch.bfloat16`) or the profiler's (`DT_BF16`).
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let short = name.strip_prefix("torch.").unwrap_or(name);
        let is = |entry: &&(DType, &str, &str, &[&str], i64)| {
            entry.1 == short || entry.2 == short || entry.3.contains(&short)
        };
        TYPES.iter().find(is).map(|entry| entry.0).ok_or_else(|| UnknownDType(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_every_spelling() {
        for (dtype, short, long, others, _) in TYPES {
            for name in [&[short, long], others].concat() {
                assert_eq!(name.parse(), Ok(dtype), "{name}");
            }
            assert_eq!(format!("torch.{long}").parse(), Ok(dtype));
        }
        assert_eq!("complex64".parse::<DType>().unwrap_err().to_string(), "unknown data type \"complex64\"");
    }
}
