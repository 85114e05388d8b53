//! What makes two kernels of a family do the same work.

use super::family::Work;
use super::operands::{GemmKey, Operands};

/// What kernels of one family must have in common to stand for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WorkKey {
    /// Nothing.
    Any,
    /// It can't be told, so they can't.
    Unknown,
    Gemm(GemmKey),
    Query(i64),
    Tokens(i64),
    Elements(i128),
}

impl WorkKey {
    /// Of a kernel with these operands; `query_tokens` where it is attention.
    pub(crate) fn of(family: &str, operands: Option<&Operands>, query_tokens: Option<i64>) -> WorkKey {
        let work = Work::of(family);
        match (work, operands) {
            (Work::Nothing, _) => WorkKey::Any,
            (Work::Gemm, operands) => operands.and_then(Operands::gemm_key).map_or(WorkKey::Unknown, WorkKey::Gemm),
            (Work::Query, _) => query_tokens.map_or(WorkKey::Unknown, WorkKey::Query),
            (Work::Tokens | Work::Elements, None) => WorkKey::Any,
            (Work::Tokens, Some(operands)) => WorkKey::Tokens(operands.tokens().unwrap_or(1)),
            (Work::Elements, Some(operands)) => WorkKey::Elements(operands.elements().unwrap_or(1)),
        }
    }

    /// For labels.
    pub(crate) fn text(&self) -> String {
        match self {
            WorkKey::Any => "*".to_owned(),
            WorkKey::Unknown => "?".to_owned(),
            WorkKey::Gemm(key) => format!("gemm:{}:{}:{}:{}", key.batch, key.m, key.k, key.n),
            WorkKey::Query(tokens) => format!("q:{tokens}"),
            WorkKey::Tokens(tokens) => format!("tokens:{tokens}"),
            WorkKey::Elements(elements) => format!("elements:{elements}"),
        }
    }
}
