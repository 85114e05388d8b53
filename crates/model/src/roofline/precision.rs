//! Element types, where they change operations per second and bytes.

use std::str::FromStr;

/// An element type of a matrix unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 64 bits, IEEE 754.
    Fp64,
    /// 32 bits, IEEE 754.
    Fp32,
    /// 32 bits, of which the multipliers take 19.
    Tf32,
    /// 16 bits, five of exponent.
    Fp16,
    /// 16 bits, eight of exponent.
    Bf16,
    /// 8 bits, floating.
    Fp8,
    /// 8 bits, integer.
    Int8,
    /// 4 bits, floating, with a scale per block.
    Fp4,
    /// 4 bits, integer.
    Int4,
}

/// A name of no known element type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown element type {0:?}")]
pub struct UnknownPrecision(pub String);

impl Precision {
    /// Bytes of an element.
    pub fn bytes(self) -> f64 {
        match self {
            Precision::Fp64 => 8.0,
            Precision::Fp32 | Precision::Tf32 => 4.0,
            Precision::Fp16 | Precision::Bf16 => 2.0,
            Precision::Fp8 | Precision::Int8 => 1.0,
            Precision::Fp4 | Precision::Int4 => 0.5,
        }
    }
}

impl FromStr for Precision {
    type Err = UnknownPrecision;

    /// The names of profilers (`DT_BF16`), of frameworks (`bfloat16`, `half`) and short ones (`bf16`).
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let lower = name.to_ascii_lowercase();
        Ok(match lower.strip_prefix("dt_").unwrap_or(&lower) {
            "float" | "float32" | "fp32" => Precision::Fp32,
            "half" | "float16" | "fp16" => Precision::Fp16,
            "bfloat16" | "bf16" => Precision::Bf16,
            "fp8" | "fp8_block" | "float8_e4m3fn" | "float8_e5m2" => Precision::Fp8,
            "int8" | "uint8" => Precision::Int8,
            "fp4" | "nvfp4" | "mxfp4" | "float4_e2m1" => Precision::Fp4,
            "int4" | "uint4" => Precision::Int4,
            _ => return Err(UnknownPrecision(name.to_owned())),
        })
    }
}

/// Bytes of an element of each operand of a product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operands {
    /// Of the activations.
    pub activation_bytes: f64,
    /// Of the weights.
    pub weight_bytes: f64,
    /// Of the result.
    pub output_bytes: f64,
}

impl Operands {
    /// Activations and weights of one type; the result has at least 16 bits.
    pub fn of(precision: Precision) -> Operands {
        let bytes = precision.bytes();
        Operands { activation_bytes: bytes, weight_bytes: bytes, output_bytes: bytes.max(2.0) }
    }

    /// 16-bit activations and result with weights of another type.
    pub(crate) fn weights_only(weights: Precision) -> Operands {
        Operands { activation_bytes: 2.0, weight_bytes: weights.bytes(), output_bytes: 2.0 }
    }

    /// The operands of a quantisation scheme by the name that serving frameworks give it; 16 bits for an unknown one.
    pub fn of_scheme(name: &str) -> Operands {
        match name {
            "int4_wo" | "w4a16" | "w4a16_mxfp4" => Operands::weights_only(Precision::Int4),
            "int8_wo" | "w8a16" => Operands::weights_only(Precision::Int8),
            "sq" | "fp8" | "fp8_block" | "w8a8" => Operands::of(Precision::Fp8),
            "int8" => Operands { activation_bytes: 1.0, weight_bytes: 1.0, output_bytes: 1.0 },
            _ => Operands::of(name.parse().unwrap_or(Precision::Bf16)),
        }
    }
}
