//! Names that hold certain words.

use crate::names::Names;

/// Per interned name, whether its lower-cased text satisfies a condition.
pub(crate) fn name_marks(names: &Names, condition: impl Fn(&str) -> bool) -> Vec<bool> {
    (0..names.len() as u32).map(|name| condition(&names.get(name).to_lowercase())).collect()
}
