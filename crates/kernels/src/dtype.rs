//! Element types of tensors: names in the database, in cases, and sizes.

use serde::{Deserialize, Serialize};

/// An element type that replay can build tensors of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// 32-bit IEEE float, `DT_FLOAT`.
    Float32,
    /// 16-bit IEEE float, `DT_FLOAT16`.
    Float16,
    /// The upper half of a 32-bit float, `DT_BF16`.
    BFloat16,
    /// 64-bit IEEE float, `DT_DOUBLE`.
    Float64,
    /// Signed byte, `DT_INT8`.
    Int8,
    /// Unsigned byte, `DT_UINT8`.
    UInt8,
    /// Signed 16-bit integer, `DT_INT16`.
    Int16,
    /// Signed 32-bit integer, `DT_INT32`.
    Int32,
    /// Signed 64-bit integer, `DT_INT64`.
    Int64,
    /// One byte per truth value, `DT_BOOL`.
    Bool,
}

impl DType {
    /// Every type, in the order of the table in the specification.
    pub const ALL: [DType; 10] = [
        DType::Float32,
        DType::Float16,
        DType::BFloat16,
        DType::Float64,
        DType::Int8,
        DType::UInt8,
        DType::Int16,
        DType::Int32,
        DType::Int64,
        DType::Bool,
    ];

    /// The name in cases and messages, as torch spells it: `bfloat16`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Float32 => "float32",
            DType::Float16 => "float16",
            DType::BFloat16 => "bfloat16",
            DType::Float64 => "float64",
            DType::Int8 => "int8",
            DType::UInt8 => "uint8",
            DType::Int16 => "int16",
            DType::Int32 => "int32",
            DType::Int64 => "int64",
            DType::Bool => "bool",
        }
    }

    /// The name in the database without its optional `DT_`: `BF16`.
    pub const fn database_name(self) -> &'static str {
        match self {
            DType::Float32 => "FLOAT",
            DType::Float16 => "FLOAT16",
            DType::BFloat16 => "BF16",
            DType::Float64 => "DOUBLE",
            DType::Int8 => "INT8",
            DType::UInt8 => "UINT8",
            DType::Int16 => "INT16",
            DType::Int32 => "INT32",
            DType::Int64 => "INT64",
            DType::Bool => "BOOL",
        }
    }

    /// The type that a database cell names, with or without `DT_`. Case matters.
    pub fn from_database(text: &str) -> Option<DType> {
        let bare = text.strip_prefix("DT_").unwrap_or(text);
        DType::ALL.into_iter().find(|dtype| dtype.database_name() == bare)
    }

    /// Bytes per element.
    pub const fn size_bytes(self) -> usize {
        match self {
            DType::Float64 | DType::Int64 => 8,
            DType::Float32 | DType::Int32 => 4,
            DType::Float16 | DType::BFloat16 | DType::Int16 => 2,
            DType::Int8 | DType::UInt8 | DType::Bool => 1,
        }
    }

    /// True for the four floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::Float32 | DType::Float16 | DType::BFloat16 | DType::Float64)
    }

    /// True for the five integer types (`bool` is none).
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::Int8 | DType::UInt8 | DType::Int16 | DType::Int32 | DType::Int64)
    }
}

/// A name that no element type has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown element type {0:?}; the types are {types}", types = DType::ALL.map(DType::name).join(", "))]
pub struct UnknownDType(pub String);

/// The type of a name as torch spells it.
///
/// ```
/// use perfdb_kernels::dtype::DType;
///
/// assert_eq!("bfloat16".parse(), Ok(DType::BFloat16));
/// assert!("bf16".parse::<DType>().is_err());
/// ```
impl std::str::FromStr for DType {
    type Err = UnknownDType;

    fn from_str(name: &str) -> Result<DType, UnknownDType> {
        let found = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
        found.ok_or_else(|| UnknownDType(name.to_owned()))
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_names_with_and_without_prefix() {
        assert_eq!(DType::from_database("DT_BF16"), Some(DType::BFloat16));
        assert_eq!(DType::from_database("FLOAT"), Some(DType::Float32));
        for text in ["BFLOAT16", "bf16", "UINT32", "UNDEFINED", "", "DT_DT_BF16"] {
            assert_eq!(DType::from_database(text), None, "{text}");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
        let error = "float8_e4m3fn".parse::<DType>().expect_err("tensors of it cannot be built");
        assert!(
            error.to_string().starts_with("unknown element type \"float8_e4m3fn\"; the types are float32, float16,")
        );
    }

    #[test]
    fn names_go_round() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            assert_eq!(serde_json::to_value(dtype).expect("a string"), dtype.name());
        }
    }
}
