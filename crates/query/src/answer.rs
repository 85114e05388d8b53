//! Questions and answers.

use std::str::FromStr;

/// Dimensions, outermost first.
pub type Shape = Vec<i64>;

/// A data type as a query names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DType {
    Bf16,
    Fp16,
    Fp32,
    Int8,
    Int32,
    Int64,
    Bool,
    /// One that no table knows.
    Other,
}

impl DType {
    /// The profiler's spelling; `None` never matches a row.
    pub fn profiler_name(self) -> Option<&'static str> {
        match self {
            DType::Bf16 | DType::Fp16 => Some("DT_BF16"),
            DType::Fp32 => Some("FLOAT"),
            DType::Int8 => Some("INT8"),
            DType::Int32 => Some("INT32"),
            DType::Int64 => Some("INT64"),
            DType::Bool => Some("BOOL"),
            DType::Other => None,
        }
    }

    /// Bytes per element.
    pub fn bytes(self) -> i64 {
        match self {
            DType::Bf16 | DType::Fp16 => 2,
            DType::Fp32 | DType::Int32 => 4,
            DType::Int64 => 8,
            DType::Int8 | DType::Bool | DType::Other => 1,
        }
    }
}

impl FromStr for DType {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "bf16" => DType::Bf16,
            "fp16" => DType::Fp16,
            "fp32" => DType::Fp32,
            "int8" => DType::Int8,
            "int32" => DType::Int32,
            "int64" => DType::Int64,
            "bool" => DType::Bool,
            _ => DType::Other,
        })
    }
}

/// An argument or a result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its shape.
    pub shape: Shape,
    /// Its data type.
    pub dtype: DType,
}

impl Tensor {
    /// A tensor of a shape and type.
    pub fn new(shape: impl Into<Shape>, dtype: DType) -> Self {
        Tensor { shape: shape.into(), dtype }
    }

    /// The number of its elements.
    pub fn elements(&self) -> i64 {
        self.shape.iter().fold(1, |product: i64, dimension| product.saturating_mul(*dimension))
    }
}

/// What an attention kernel is asked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    /// The query: (T, N, D), (B, N, 1, D) or (T, H).
    pub query: Tensor,
    /// The last dimension of the key, and the number of key heads (its last but one).
    pub key: Shape,
    /// Lengths of the key-value sequences.
    pub kv_lengths: Vec<i64>,
}

/// How a kernel is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// By its inputs.
    Compute,
    /// By its first output.
    Elementwise,
    /// By heads, tokens and average length.
    Attention(Attention),
    /// By its inputs and the expert-parallel size.
    Moe {
        /// The configured size.
        ep_size: Option<i64>,
    },
    /// By message size.
    Communication {
        /// Bytes of the message.
        bytes: i64,
        /// Devices of the group.
        devices: i64,
        /// Tier of the topology; `None` = not filtered.
        tier: Option<i64>,
    },
}

/// A question about kernels.
#[derive(Debug, Clone)]
pub struct Query {
    /// The kernel type, then its alternates.
    pub kernel_types: Vec<String>,
    /// The arguments.
    pub inputs: Vec<Tensor>,
    /// The results.
    pub outputs: Vec<Tensor>,
    /// Compare only so many inputs.
    pub input_count: Option<usize>,
    /// How to look it up.
    pub mode: Mode,
    /// Whether to interpolate where no row fits.
    pub interpolate: bool,
    /// Interpolate attention over the square root of the length.
    pub square_root: bool,
}

/// A call of a simulator operator.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its name, `aten.mm.default`.
    pub operator: String,
    /// The arguments.
    pub inputs: Vec<Tensor>,
    /// The results.
    pub outputs: Vec<Tensor>,
    /// For attention.
    pub attention: Option<Attention>,
    /// Devices of the rank group, for communication.
    pub devices: i64,
    /// Tier of the rank group, where the topology is known.
    pub tier: Option<i64>,
    /// The configured expert-parallel size.
    pub ep_size: Option<i64>,
    /// Whether to interpolate where no row fits.
    pub interpolate: bool,
}

impl Call {
    /// A call on one device, measured answers only.
    pub fn new(operator: impl Into<String>, inputs: Vec<Tensor>) -> Self {
        Call {
            operator: operator.into(),
            inputs,
            outputs: Vec::new(),
            attention: None,
            devices: 1,
            tier: None,
            ep_size: None,
            interpolate: false,
        }
    }
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A row.
    Measured,
    /// Rows around it.
    Interpolated,
    /// Some of the parts of a composite.
    Partial,
}

impl Source {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Source::Measured => "MEASURED",
            Source::Interpolated => "INTERPOLATED",
            Source::Partial => "PARTIAL",
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The duration.
    pub duration_us: f64,
    /// 1 for a row that fits as it is, less for what is derived.
    pub confidence: f64,
    /// Where it comes from.
    pub source: Source,
    /// The table that answered.
    pub kernel_type: String,
    /// The rule by which rows matched.
    pub rule: &'static str,
    /// The lines of the rows in the table's file.
    pub lines: Vec<u64>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MissReason {
    /// The mapping does not know the operator.
    #[error("unmapped")]
    Unmapped,
    /// None of the tables exists.
    #[error("csv_not_found")]
    CsvNotFound,
    /// A communication table without sizes.
    #[error("csv_format_raw")]
    CsvFormatRaw,
    /// No row fits.
    #[error("shape_mismatch")]
    ShapeMismatch,
    /// No row has a fitting output.
    #[error("elementwise_output_shape_mismatch")]
    ElementwiseOutputShapeMismatch,
    /// A mixture-of-experts kernel without a configured size.
    #[error("ep_size_not_configured")]
    EpSizeNotConfigured,
    /// A table cannot be used.
    #[error("unreadable")]
    Unreadable,
}

/// No answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{reason}{}", detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default())]
pub struct Miss {
    /// Why.
    pub reason: MissReason,
    /// More about it, such as why a table cannot be used.
    pub detail: Option<String>,
    /// The table and line of the row that comes nearest, where one can be told: the same number of inputs and types, most equal dimensions.
    pub nearest: Option<(String, u64)>,
}

impl From<MissReason> for Miss {
    fn from(reason: MissReason) -> Self {
        Miss { reason, detail: None, nearest: None }
    }
}
