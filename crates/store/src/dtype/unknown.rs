//! The error of a name that no type has.

use crate::dtype::DType;

/// How alike names must be, from 0 to 1, for one to be offered in place of the other.
const SIMILAR: f64 = 0.85;

/// A name that no data type has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown data type {name:?}{}", offer(.similar))]
pub struct UnknownDType {
    /// The name.
    pub name: String,
    /// At most three names that are like it, the likest first.
    pub similar: Vec<&'static str>,
}

impl UnknownDType {
    pub(crate) fn new(name: &str) -> UnknownDType {
        let bare = name.strip_prefix("torch.").unwrap_or(name);
        let mut similar: Vec<(f64, &'static str)> = DType::ALL
            .into_iter()
            .map(|dtype| (strsim::jaro_winkler(bare, dtype.name()), dtype.name()))
            .filter(|(likeness, _)| *likeness >= SIMILAR)
            .collect();
        similar.sort_by(|a, b| b.0.total_cmp(&a.0));
        let similar = similar.into_iter().take(3).map(|(_, name)| name).collect();
        UnknownDType { name: name.to_owned(), similar }
    }
}

fn offer(similar: &[&str]) -> String {
    if similar.is_empty() { String::new() } else { format!("; similar names: {}", similar.join(", ")) }
}
