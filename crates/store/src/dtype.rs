//! Data types of tensors, under the names of PyTorch and of profilers.
//!
//! ```
//! use perfdb_store::dtype::DType;
//!
//! assert_eq!("torch.bfloat16".parse(), Ok(DType::BFloat16));
//! assert_eq!(DType::from_database("DT_BF16"), Some(DType::BFloat16));
//! assert_eq!(DType::Float8E4M3Fn.size_bytes(), 1);
//! let error = "bfloat61".parse::<DType>().unwrap_err();
//! assert_eq!(error.to_string(), "unknown data type \"bfloat61\"; similar names: bfloat16, float16, float64");
//! ```

mod names;
mod scheme;
mod unknown;

pub use unknown::UnknownDType;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The data type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit IEEE float.
    Float32,
    /// 16-bit IEEE float.
    Float16,
    /// The upper half of a 32-bit float.
    BFloat16,
    /// 64-bit IEEE float.
    Float64,
    /// Signed byte.
    Int8,
    /// Unsigned byte.
    UInt8,
    /// Signed 16-bit integer.
    Int16,
    /// Signed 32-bit integer.
    Int32,
    /// Signed 64-bit integer.
    Int64,
    /// One byte per truth value.
    Bool,
    /// 8-bit float with 4 bits of exponent and no infinities.
    Float8E4M3Fn,
    /// 8-bit float with 5 bits of exponent.
    Float8E5M2,
    /// [`Float8E4M3Fn`](DType::Float8E4M3Fn) with another bias and no negative zero.
    Float8E4M3Fnuz,
    /// [`Float8E5M2`](DType::Float8E5M2) with another bias, no infinities and no negative zero.
    Float8E5M2Fnuz,
    /// 8-bit powers of two: scales of microscaling formats.
    Float8E8M0Fnu,
    /// Two 4-bit floats in a byte, which is what counts as an element.
    Float4E2M1FnX2,
    /// 4-bit integers; a byte counts as an element.
    Int4,
    /// Unsigned 16-bit integer.
    UInt16,
    /// Unsigned 32-bit integer.
    UInt32,
    /// Unsigned 64-bit integer.
    UInt64,
    /// Two 32-bit floats.
    Complex64,
    /// Two 64-bit floats.
    Complex128,
}

impl DType {
    /// Every type.
    pub const ALL: [DType; 22] = {
        let mut all = [DType::Float32; 22];
        let mut at = 0;
        while at < all.len() {
            all[at] = names::TABLE[at].dtype;
            at += 1;
        }
        all
    };

    /// PyTorch's name: `bfloat16`.
    pub const fn name(self) -> &'static str {
        names::TABLE[self as usize].name
    }

    /// The short name that papers and configurations use: `bf16`.
    pub const fn short_name(self) -> &'static str {
        names::TABLE[self as usize].short
    }

    /// The profiler's name without its optional `DT_`: `BF16`. `None` for the types that the profiler has no name for.
    pub const fn database_name(self) -> Option<&'static str> {
        names::TABLE[self as usize].database
    }

    /// The type that tables have for it. AMD's variants of 8-bit floats stand there as the types that they are variants of: no device has both.
    pub const fn in_tables(self) -> DType {
        match self {
            DType::Float8E4M3Fnuz => DType::Float8E4M3Fn,
            DType::Float8E5M2Fnuz => DType::Float8E5M2,
            other => other,
        }
    }

    /// How tables spell it: `DT_BF16`, `FLOAT`.
    #[inline]
    pub fn table_name(self) -> &'static str {
        match self.in_tables() {
            DType::BFloat16 => "DT_BF16",
            DType::Float16 => "DT_FLOAT16",
            other => other.database_name().unwrap_or(other.name()),
        }
    }

    /// The type that a cell of the database names, with or without `DT_`. Case matters, and other spellings are not read.
    pub fn from_database(cell: &str) -> Option<DType> {
        let bare = cell.strip_prefix("DT_").unwrap_or(cell);
        names::TABLE.iter().find(|row| row.database == Some(bare)).map(|row| row.dtype)
    }

    /// Bytes per element as PyTorch counts elements: packed types have one.
    pub const fn size_bytes(self) -> usize {
        names::TABLE[self as usize].size_bytes
    }

    /// True for the floating-point types, the 8-bit and 4-bit ones included.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::Float32 | DType::Float16 | DType::BFloat16 | DType::Float64 | DType::Float4E2M1FnX2)
            || self.is_float8()
    }

    /// True for the 8-bit floating-point types.
    pub const fn is_float8(self) -> bool {
        matches!(
            self,
            DType::Float8E4M3Fn
                | DType::Float8E5M2
                | DType::Float8E4M3Fnuz
                | DType::Float8E5M2Fnuz
                | DType::Float8E8M0Fnu
        )
    }

    /// True for the integer types (`bool` is none).
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            DType::Int4
                | DType::Int8
                | DType::Int16
                | DType::Int32
                | DType::Int64
                | DType::UInt8
                | DType::UInt16
                | DType::UInt32
                | DType::UInt64
        )
    }
}

impl FromStr for DType {
    type Err = UnknownDType;

    /// Reads PyTorch's name (`bfloat16`, `torch.bfloat16`), the short one (`bf16`) or a profiler's (`DT_BF16`, `BF16`).
    fn from_str(text: &str) -> Result<DType, UnknownDType> {
        names::find(text).ok_or_else(|| UnknownDType::new(text))
    }
}

/// Writes PyTorch's name.
impl fmt::Display for DType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// As PyTorch's name.
impl Serialize for DType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// From every name that [`FromStr`] reads.
impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DType, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_round() {
        for dtype in DType::ALL {
            for name in [dtype.name(), dtype.short_name()] {
                assert_eq!(name.parse(), Ok(dtype), "{name}");
                assert_eq!(format!("torch.{name}").parse(), Ok(dtype), "{name}");
            }
            if let Some(name) = dtype.database_name() {
                for name in [name.to_owned(), format!("DT_{name}")] {
                    assert_eq!((name.parse(), DType::from_database(&name)), (Ok(dtype), Some(dtype)), "{name}");
                }
            }
            let json = serde_json::to_string(&dtype).expect("a string");
            assert_eq!(json, format!("{:?}", dtype.name()));
            assert_eq!(serde_json::from_str::<DType>(&json).ok(), Some(dtype));
        }
    }

    #[test]
    fn cells_of_the_database_have_one_spelling() {
        for text in ["BFLOAT16", "bf16", "bfloat16", "DT_FP16", "UNDEFINED", "", "DT_", "DT_DT_BF16", "torch.int8"] {
            assert_eq!(DType::from_database(text), None, "{text}");
        }
    }

    #[test]
    fn other_spellings_are_read_where_people_write_them() {
        let of = |name: &str| name.parse::<DType>().ok();
        for (name, dtype) in [
            ("half", DType::Float16),
            ("float", DType::Float32),
            ("double", DType::Float64),
            ("long", DType::Int64),
            ("fp8", DType::Float8E4M3Fn),
            ("DT_FP16", DType::Float16),
            ("DT_BFLOAT16", DType::BFloat16),
            ("quint4x2", DType::Int4),
            ("float4_e2m1", DType::Float4E2M1FnX2),
            ("float8_e8m0", DType::Float8E8M0Fnu),
        ] {
            assert_eq!(of(name), Some(dtype), "{name}");
        }
        assert_eq!(["", "DT_", "torch.", "Bf16", "float128"].map(of), [None; 5]);
    }

    #[test]
    fn every_type_has_a_name_in_tables() {
        for dtype in DType::ALL {
            assert_eq!(DType::from_database(dtype.table_name()), Some(dtype.in_tables()), "{dtype}");
            assert_eq!(dtype.in_tables().size_bytes(), dtype.size_bytes());
        }
    }

    #[test]
    fn sizes_and_kinds() {
        let bytes = |dtype: DType| dtype.size_bytes();
        assert_eq!([DType::Float8E5M2, DType::BFloat16, DType::Int32, DType::Complex128].map(bytes), [1, 2, 4, 16]);
        assert!(DType::Float8E8M0Fnu.is_float8() && DType::Float4E2M1FnX2.is_float() && DType::Int4.is_integer());
        for dtype in DType::ALL {
            assert!(!(dtype.is_float() && dtype.is_integer()), "{dtype}");
            assert!(!dtype.is_float8() || dtype.is_float() && dtype.size_bytes() == 1, "{dtype}");
        }
        assert!(!DType::Bool.is_integer() && !DType::Complex64.is_float());
    }

    #[test]
    fn an_unknown_name_is_named_with_those_like_it() {
        let error = |name: &str| name.parse::<DType>().unwrap_err().to_string();
        assert_eq!(
            error("float8_e4m3"),
            "unknown data type \"float8_e4m3\"; similar names: float8_e4m3fn, float8_e4m3fnuz, float8_e5m2"
        );
        assert_eq!(error("b"), "unknown data type \"b\"");
        assert_eq!(error("a\nb"), "unknown data type \"a\\nb\"");
    }
}
