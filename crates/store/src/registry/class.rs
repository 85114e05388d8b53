//! Classes of kernels and layouts of their operands.

/// What a kernel does, where its time depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum KernelClass {
    /// A product of two matrices.
    MatMul,
    /// Products of matrices in a batch that counts.
    BatchMatMul,
    /// A product of groups of rows, each with its own matrix.
    GroupedMatMul,
    /// Attention of whole prompts and of single tokens in one table.
    Attention,
    /// Attention of many query tokens of a sequence.
    PrefillAttention,
    /// Attention of one query token of a sequence over its cache.
    DecodeAttention,
    /// Attention of chosen tokens, whose rows have the length of every request.
    SparseAttention,
    /// Chooses the tokens of sparse attention; rows have the length of every request.
    Indexer,
    /// Multi-head latent attention.
    LatentAttention,
    /// The experts of a layer in one call.
    Experts,
    /// A norm, with or without what is fused to it.
    Norm,
    /// Another data type of less bits, with scales.
    Quantize,
    /// Each element of the result from those at its place.
    Elementwise,
    /// An activation of the gate times the value, which may be one tensor.
    GatedActivation,
    /// Rotary position embedding of query and key.
    Rope,
    /// Writes key and value into a paged cache.
    CacheWrite,
    /// Takes chosen elements.
    Index,
    /// Moves data and calculates nothing.
    Copy,
    /// Exchanges data between ranks.
    Collective,
    /// Not described: nothing but its columns is known.
    #[default]
    Generic,
}

impl KernelClass {
    /// Every class.
    pub const ALL: [KernelClass; 20] = [
        KernelClass::MatMul,
        KernelClass::BatchMatMul,
        KernelClass::GroupedMatMul,
        KernelClass::Attention,
        KernelClass::PrefillAttention,
        KernelClass::DecodeAttention,
        KernelClass::SparseAttention,
        KernelClass::Indexer,
        KernelClass::LatentAttention,
        KernelClass::Experts,
        KernelClass::Norm,
        KernelClass::Quantize,
        KernelClass::Elementwise,
        KernelClass::GatedActivation,
        KernelClass::Rope,
        KernelClass::CacheWrite,
        KernelClass::Index,
        KernelClass::Copy,
        KernelClass::Collective,
        KernelClass::Generic,
    ];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            KernelClass::MatMul => "matmul",
            KernelClass::BatchMatMul => "batched_matmul",
            KernelClass::GroupedMatMul => "grouped_matmul",
            KernelClass::Attention => "attention",
            KernelClass::PrefillAttention => "attention_prefill",
            KernelClass::DecodeAttention => "attention_decode",
            KernelClass::SparseAttention => "attention_sparse",
            KernelClass::Indexer => "attention_indexer",
            KernelClass::LatentAttention => "mla",
            KernelClass::Experts => "experts",
            KernelClass::Norm => "norm",
            KernelClass::Quantize => "quantize",
            KernelClass::Elementwise => "elementwise",
            KernelClass::GatedActivation => "gated_activation",
            KernelClass::Rope => "rope",
            KernelClass::CacheWrite => "cache_write",
            KernelClass::Index => "index",
            KernelClass::Copy => "copy",
            KernelClass::Collective => "collective",
            KernelClass::Generic => "generic",
        }
    }

    /// The operator of PyTorch that runs such a kernel, where its inputs are those of the kernel.
    pub const fn operator(self) -> Option<&'static str> {
        match self {
            KernelClass::MatMul => Some("aten.mm.default"),
            KernelClass::BatchMatMul => Some("aten.bmm.default"),
            _ => None,
        }
    }

    /// Whether it multiplies matrices.
    pub const fn is_product(self) -> bool {
        matches!(self, KernelClass::MatMul | KernelClass::BatchMatMul | KernelClass::GroupedMatMul)
    }

    /// Whether rows have the length of every request.
    pub const fn has_request_lengths(self) -> bool {
        matches!(self, KernelClass::SparseAttention | KernelClass::Indexer)
    }

    /// Whether it is attention of queries to keys with heads of their own.
    pub const fn is_attention(self) -> bool {
        matches!(self, KernelClass::Attention | KernelClass::PrefillAttention | KernelClass::DecodeAttention)
    }

    /// The size along which calls grow, as people name it.
    pub const fn size_name(self) -> &'static str {
        match self {
            KernelClass::Collective => "message_bytes",
            class if class.is_product() => "M",
            _ => "first dimension",
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
