//! Families of operations: classes that do one kind of work.

/// Families and the classes in them; a class that stands in none is a family of its own.
const FAMILIES: [(&str, &[&str]); 7] = [
    ("GEMM", &["Dense GEMM"]),
    ("MoE", &["MoE GEMM", "MoE GEMM+SwiGLU", "MoE Routing", "MoE Finalize"]),
    ("Norm", &["RMSNorm", "RMSNorm+GEMM", "Embedding+RMSNorm+GEMM", "LayerNorm", "Normalization"]),
    ("Activation", &["SwiGLU", "SwiGLU+GEMM", "Activation"]),
    ("RoPE and KV cache", &["RoPE", "KV Cache"]),
    ("Copy kernels", &["Copy/Memory"]),
    ("Unknown kernels", &["Other"]),
];

/// The family of a class.
pub(super) fn family(operation: &str) -> &str {
    let found = FAMILIES.iter().find(|(_, classes)| classes.contains(&operation));
    found.map_or(operation, |(family, _)| family)
}
