//! Element types as PyTorch's profiler names them.

use crate::roofline::Precision;

/// What an element of a tensor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// 64 bits, floating.
    Double,
    /// 32 bits, floating.
    Float,
    /// 16 bits, floating, five of exponent.
    Half,
    /// 16 bits, floating, eight of exponent.
    BFloat16,
    /// 8 bits, floating.
    Float8,
    /// Two of 4 bits, floating, in a byte.
    Float4x2,
    /// 64 bits, integer.
    Long,
    /// 32 bits, integer.
    Int,
    /// 16 bits, integer.
    Short,
    /// 8 bits, integer with or without sign.
    Char,
    /// True or false, in a byte.
    Bool,
}

impl ElementType {
    /// The type of a name: `c10::BFloat16`, `float`, `long int`, in any case; `None` for numbers that are not tensors.
    pub fn of_name(name: &str) -> Option<ElementType> {
        let lower = name.to_ascii_lowercase();
        let plain = lower.rsplit("::").next().unwrap_or(&lower);
        Some(match plain {
            "double" | "float64" => ElementType::Double,
            "float" | "float32" => ElementType::Float,
            "half" | "float16" => ElementType::Half,
            "bfloat16" => ElementType::BFloat16,
            "long" | "long int" | "int64" | "long long" => ElementType::Long,
            "int" | "int32" => ElementType::Int,
            "short" | "short int" | "int16" => ElementType::Short,
            "char" | "signed char" | "unsigned char" | "byte" | "int8" | "uint8" => ElementType::Char,
            "bool" => ElementType::Bool,
            _ if plain.starts_with("float8") => ElementType::Float8,
            _ if plain.starts_with("float4") => ElementType::Float4x2,
            _ => return None,
        })
    }

    /// A short name: `bfloat16`, `float8`, `int64`.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Double => "float64",
            ElementType::Float => "float32",
            ElementType::Half => "float16",
            ElementType::BFloat16 => "bfloat16",
            ElementType::Float8 => "float8",
            ElementType::Float4x2 => "float4",
            ElementType::Long => "int64",
            ElementType::Int => "int32",
            ElementType::Short => "int16",
            ElementType::Char => "int8",
            ElementType::Bool => "bool",
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> f64 {
        match self {
            ElementType::Double | ElementType::Long => 8.0,
            ElementType::Float | ElementType::Int => 4.0,
            ElementType::Half | ElementType::BFloat16 | ElementType::Short => 2.0,
            ElementType::Float8 | ElementType::Float4x2 | ElementType::Char | ElementType::Bool => 1.0,
        }
    }

    /// What the matrix units are asked for; `None` where they have no such type.
    pub(crate) fn matrix_precision(self) -> Option<Precision> {
        Some(match self {
            ElementType::Double => Precision::Fp64,
            ElementType::Float => Precision::Fp32,
            ElementType::Half => Precision::Fp16,
            ElementType::BFloat16 => Precision::Bf16,
            ElementType::Float8 => Precision::Fp8,
            ElementType::Float4x2 => Precision::Fp4,
            ElementType::Char => Precision::Int8,
            ElementType::Long | ElementType::Int | ElementType::Short | ElementType::Bool => return None,
        })
    }

    /// What the other units compute in: 32 bits for anything stored, and 64 where that is asked for.
    pub(crate) fn vector_precision(self) -> Precision {
        if self == ElementType::Double { Precision::Fp64 } else { Precision::Fp32 }
    }

    /// Whether it has an exponent.
    pub(crate) fn is_floating(self) -> bool {
        self.category() == 2
    }

    /// Rank in promotion: floating before integer before Boolean.
    fn category(self) -> u8 {
        match self {
            ElementType::Bool => 0,
            ElementType::Long | ElementType::Int | ElementType::Short | ElementType::Char => 1,
            _ => 2,
        }
    }

    /// The type of the result of two tensors.
    pub(crate) fn promoted(self, other: ElementType) -> ElementType {
        let key = |element: ElementType| (element.category(), element.bytes() as u8);
        match (self, other) {
            (ElementType::Half, ElementType::BFloat16) | (ElementType::BFloat16, ElementType::Half) => {
                ElementType::Float
            }
            _ if key(other) > key(self) => other,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_spellings_are_known() {
        for (name, bytes) in [
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
            assert_eq!(ElementType::of_name(name).map(ElementType::bytes), Some(bytes), "{name}");
        }
        assert_eq!(ElementType::of_name("Scalar"), None);
        assert_eq!(ElementType::of_name(""), None);
    }

    #[test]
    fn floating_types_win_over_wider_integers() {
        assert_eq!(ElementType::Long.promoted(ElementType::Half), ElementType::Half);
        assert_eq!(ElementType::Half.promoted(ElementType::Float), ElementType::Float);
        assert_eq!(ElementType::Half.promoted(ElementType::BFloat16), ElementType::Float);
        assert_eq!(ElementType::Bool.promoted(ElementType::Int), ElementType::Int);
    }
}
