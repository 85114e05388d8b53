//! The replayable operators, one file each. Adding one is adding a file and its line in the list below.

use crate::operator::Operator;

macro_rules! operators {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every operator, in the order of the code points of their names.
        pub static OPERATORS: &[Operator] = &[$($module::OPERATOR),*];
    };
}

operators! {
    add,
    mat_mul_v2,
}

/// The operator that may run on several ranks, with flags of its own.
pub const DISPATCH_FFN_COMBINE: &str = "DispatchFFNCombine";

/// The operator of that name. Case matters.
pub fn find(name: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.name == name)
}

/// The name that a person means: a final `_run.py`, `_run` or `.csv` is cut off.
pub fn normalize_name(text: &str) -> &str {
    let text = text.trim();
    ["_run.py", "_run", ".csv"].iter().find_map(|ending| text.strip_suffix(ending)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(OPERATORS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn names_given_by_people() {
        for text in ["Add", "Add_run.py", "Add_run", "Add.csv", " Add "] {
            assert_eq!(normalize_name(text), "Add");
        }
        assert_eq!(normalize_name("Add_run.csv"), "Add_run");
    }
}
