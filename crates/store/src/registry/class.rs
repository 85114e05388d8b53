//! Classes of kernels and layouts of their operands.

/// What a kernel does, where its time depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KernelClass {
    /// A product of two matrices, batched or not.
    MatMul,
    /// A product of groups of rows, each with its own matrix.
    GroupedMatMul,
    /// Attention of whole prompts and of single tokens in one table.
    Attention,
    /// Attention of many query tokens of a sequence.
    PrefillAttention,
    /// Attention of one query token of a sequence over its cache.
    DecodeAttention,
    /// Multi-head latent attention.
    LatentAttention,
    /// The experts of a layer in one call.
    Experts,
    /// A norm, with or without what is fused to it.
    Norm,
    /// Each element of the result from those at its place.
    Elementwise,
    /// Moves data and calculates nothing.
    Copy,
    /// Exchanges data between ranks.
    Collective,
    /// Not described: nothing but its columns is known.
    Generic,
}

impl KernelClass {
    /// Every class.
    pub const ALL: [KernelClass; 12] = [
        KernelClass::MatMul,
        KernelClass::GroupedMatMul,
        KernelClass::Attention,
        KernelClass::PrefillAttention,
        KernelClass::DecodeAttention,
        KernelClass::LatentAttention,
        KernelClass::Experts,
        KernelClass::Norm,
        KernelClass::Elementwise,
        KernelClass::Copy,
        KernelClass::Collective,
        KernelClass::Generic,
    ];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            KernelClass::MatMul => "matmul",
            KernelClass::GroupedMatMul => "grouped_matmul",
            KernelClass::Attention => "attention",
            KernelClass::PrefillAttention => "attention_prefill",
            KernelClass::DecodeAttention => "attention_decode",
            KernelClass::LatentAttention => "mla",
            KernelClass::Experts => "experts",
            KernelClass::Norm => "norm",
            KernelClass::Elementwise => "elementwise",
            KernelClass::Copy => "copy",
            KernelClass::Collective => "collective",
            KernelClass::Generic => "generic",
        }
    }
}

/// How the second operand of a product stands in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layout {
    /// Columns, then inner dimension.
    NK,
    /// Inner dimension, then columns.
    KN,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Layout; 2] = [Layout::NK, Layout::KN];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::NK => "n_k",
            Layout::KN => "k_n",
        }
    }
}
