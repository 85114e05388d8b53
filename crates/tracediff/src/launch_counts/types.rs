//! Coarse kernel types.

use crate::time::Picoseconds;

/// Number of a type in [`TYPES`].
pub(crate) type Type = u8;

/// The types in byte order.
pub(crate) const TYPES: [&str; 16] = [
    "Attention",
    "Elementwise",
    "GELU",
    "GEMM",
    "KV_Cache",
    "MemCopy",
    "Other",
    "RMSNorm",
    "ReLU",
    "Reduce",
    "Softmax",
    "Sort",
    "SwiGLU",
    "Triton_Persistent",
    "Triton_Pointwise",
    "Triton_Reduce",
];

/// The type of everything else.
pub(crate) const OTHER: Type = 6;

/// Kernels of a type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) time: Picoseconds,
}

/// Words of which a name contains one, and the type; first match wins. A word with a space stands for both its parts.
const WORDS: [(&[&str], &str); 15] = [
    (&["cijk_", "nvjet", "wvsplitk", "cublas", "hipblas", "tensile"], "GEMM"),
    (&["attention", "fmha"], "Attention"),
    (&["reshape_and_cache"], "KV_Cache"),
    (&["triton rsqrt", "layernorm", "rmsnorm"], "RMSNorm"),
    (&["silu", "swiglu"], "SwiGLU"),
    (&["gelu"], "GELU"),
    (&["relu"], "ReLU"),
    (&["triton_poi"], "Triton_Pointwise"),
    (&["triton_red"], "Triton_Reduce"),
    (&["triton_per"], "Triton_Persistent"),
    (&["reduce_segments", "devicereduce"], "Reduce"),
    (&["sort", "merge"], "Sort"),
    (&["softmax"], "Softmax"),
    (&["elementwise"], "Elementwise"),
    (&["copy", "memcpy"], "MemCopy"),
];

/// Type of a kernel.
pub(crate) fn type_of(name: &str) -> Type {
    let lower = name.to_lowercase();
    let holds = |words: &str| words.split(' ').all(|word| lower.contains(word));
    let found = WORDS.iter().find(|(words, _)| words.iter().any(|words| holds(words)));
    let name = found.map_or("Other", |(_, name)| name);
    TYPES.iter().position(|known| *known == name).map_or(OTHER, |at| at as Type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_stand_in_byte_order() {
        assert!(TYPES.is_sorted());
        assert_eq!(TYPES[OTHER as usize], "Other");
    }

    #[test]
    fn names_tell_types() {
        for (name, expected) in [
            ("Cijk_Alik", "GEMM"),
            ("triton_red_fused_rsqrt_0", "RMSNorm"),
            ("triton_red_fused_mean_0", "Triton_Reduce"),
            ("rsqrt_kernel", "Other"),
            ("triton_poi_fused_silu", "SwiGLU"),
            ("cub::DeviceReduceKernel", "Reduce"),
            ("at::native::reduce_kernel", "Other"),
            ("direct_copy_kernel", "MemCopy"),
        ] {
            assert_eq!(TYPES[type_of(name) as usize], expected, "{name}");
        }
    }
}
