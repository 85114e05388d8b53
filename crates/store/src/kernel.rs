//! Names of kernel types and operators.

pub use crate::registry::REPLAYABLE;
pub(crate) use crate::registry::parts::ATTENTION as FUSED_INFER_ATTENTION_SCORE;
pub use crate::registry::parts::DISPATCH_FFN_COMBINE;
use perfdb_pycompat::text::trim;

/// An operator name as people give it: trimmed, without one ending `_run.py`, `_run` or `.csv`.
///
/// ```
/// use perfdb_store::kernel::operator_name;
/// assert_eq!(operator_name(" MatMulV2_run.py"), "MatMulV2");
/// assert_eq!(operator_name("Add.csv"), "Add");
/// ```
pub fn operator_name(given: &str) -> &str {
    let name = trim(given);
    ["_run.py", "_run", ".csv"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// The file name of a kernel type's table without `.csv`: trimmed, what file systems refuse replaced by `_`. `None` for an empty type.
///
/// ```
/// use perfdb_store::kernel::file_stem;
/// assert_eq!(file_stem(" a/b:c ").as_deref(), Some("a_b_c"));
/// assert_eq!(file_stem(" "), None);
/// ```
pub fn file_stem(kernel_type: &str) -> Option<String> {
    let refused =
        |character: char| matches!(character, '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*' | '\0'..='\x1f');
    let name = trim(kernel_type);
    (!name.is_empty()).then(|| name.replace(refused, "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_by_code_point() {
        assert!(REPLAYABLE.is_sorted());
    }

    #[test]
    fn only_one_ending_is_taken() {
        assert_eq!(operator_name("Add_run.csv"), "Add_run");
        assert_eq!(operator_name("Add_run_run.py"), "Add_run");
        assert_eq!(operator_name("_run"), "");
    }
}
