//! Element types of the tensors that are sent.

use serde::{Deserialize, Serialize};

/// An element type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DataType {
    /// Two bytes, eight bits of exponent.
    #[default]
    #[serde(rename = "torch.bfloat16")]
    BFloat16,
    /// Two bytes, IEEE half precision.
    #[serde(rename = "torch.float16")]
    Float16,
    /// Four bytes, IEEE single precision.
    #[serde(rename = "torch.float32")]
    Float32,
    /// One byte, signed.
    #[serde(rename = "torch.int8")]
    Int8,
}

impl DataType {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::BFloat16, Self::Float16, Self::Float32, Self::Int8];

    /// PyTorch's name, for example `torch.bfloat16`.
    pub fn torch_name(self) -> &'static str {
        match self {
            Self::BFloat16 => "torch.bfloat16",
            Self::Float16 => "torch.float16",
            Self::Float32 => "torch.float32",
            Self::Int8 => "torch.int8",
        }
    }

    /// The name in the tables of the database, for example `DT_BF16`.
    pub fn table_name(self) -> &'static str {
        match self {
            Self::BFloat16 => "DT_BF16",
            Self::Float16 => "DT_FP16",
            Self::Float32 => "DT_FLOAT",
            Self::Int8 => "DT_INT8",
        }
    }

    /// Bytes of one element.
    pub fn size_bytes(self) -> u64 {
        match self {
            Self::BFloat16 | Self::Float16 => 2,
            Self::Float32 => 4,
            Self::Int8 => 1,
        }
    }

    /// The type with this PyTorch name.
    pub fn from_torch_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.torch_name() == name)
    }
}

impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.torch_name())
    }
}
