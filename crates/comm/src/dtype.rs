//! Data types of the tensors that are sent.

use std::borrow::Cow;
use std::fmt;

use perfdb_store::dtype::DType;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One of the four data types that collectives are measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CollectiveDType {
    dtype: DType,
    torch_name: &'static str,
    table_name: &'static str,
}

/// A data type that collectives are not measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("collectives are not measured with {0}; one of {names}", names = CollectiveDType::names())]
pub struct NotCollective(pub DType);

impl CollectiveDType {
    /// `torch.bfloat16`, the default.
    pub const BFLOAT16: Self = Self { dtype: DType::BFloat16, torch_name: "torch.bfloat16", table_name: "DT_BF16" };
    /// `torch.float16`, in tables of communication `DT_FP16`.
    pub const FLOAT16: Self = Self { dtype: DType::Float16, torch_name: "torch.float16", table_name: "DT_FP16" };
    /// `torch.float32`.
    pub const FLOAT32: Self = Self { dtype: DType::Float32, torch_name: "torch.float32", table_name: "DT_FLOAT" };
    /// `torch.int8`.
    pub const INT8: Self = Self { dtype: DType::Int8, torch_name: "torch.int8", table_name: "DT_INT8" };
    /// All of them.
    pub const ALL: [Self; 4] = [Self::BFLOAT16, Self::FLOAT16, Self::FLOAT32, Self::INT8];

    /// PyTorch's name, for example `torch.bfloat16`.
    pub(crate) fn torch_name(self) -> &'static str {
        self.torch_name
    }

    /// The name in tables of communication, for example `DT_BF16`.
    pub(crate) fn table_name(self) -> &'static str {
        self.table_name
    }

    /// Bytes of one element.
    pub fn size_bytes(self) -> u64 {
        self.dtype.size_bytes() as u64
    }

    /// The type with this PyTorch name, which begins with `torch.`.
    pub fn from_torch_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.torch_name == name)
    }

    /// PyTorch's names of all of them, separated by commas.
    pub fn names() -> String {
        Self::ALL.map(Self::torch_name).join(", ")
    }
}

impl Default for CollectiveDType {
    fn default() -> Self {
        Self::BFLOAT16
    }
}

impl From<CollectiveDType> for DType {
    fn from(dtype: CollectiveDType) -> DType {
        dtype.dtype
    }
}

impl TryFrom<DType> for CollectiveDType {
    type Error = NotCollective;

    fn try_from(dtype: DType) -> Result<Self, NotCollective> {
        Self::ALL.into_iter().find(|known| known.dtype == dtype).ok_or(NotCollective(dtype))
    }
}

impl fmt::Display for CollectiveDType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.torch_name)
    }
}

impl Serialize for CollectiveDType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.torch_name)
    }
}

impl<'de> Deserialize<'de> for CollectiveDType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Self::from_torch_name(&name)
            .ok_or_else(|| serde::de::Error::custom(format_args!("{name:?} is none of {}", Self::names())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_go_round() {
        for dtype in CollectiveDType::ALL {
            assert_eq!(CollectiveDType::from_torch_name(dtype.torch_name()), Some(dtype));
            assert_eq!(CollectiveDType::try_from(DType::from(dtype)), Ok(dtype));
            assert_eq!(dtype.torch_name(), format!("torch.{}", DType::from(dtype)));
            let json = serde_json::to_string(&dtype).expect("a string");
            assert_eq!(serde_json::from_str::<CollectiveDType>(&json).ok(), Some(dtype));
        }
    }

    #[test]
    fn other_types_are_named() {
        let error = CollectiveDType::try_from(DType::Float8E5M2).expect_err("none of the four").to_string();
        assert_eq!(
            error,
            "collectives are not measured with float8_e5m2; one of torch.bfloat16, torch.float16, torch.float32, torch.int8"
        );
        let error = serde_json::from_str::<CollectiveDType>("\"bfloat16\"").expect_err("no `torch.`").to_string();
        assert!(error.starts_with("\"bfloat16\" is none of torch.bfloat16, "), "{error}");
    }
}
