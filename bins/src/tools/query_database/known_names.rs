//! What a database has in the place of a name that it does not have.

use perfdb_query::{Database, Query};
use perfdb_store::near_name::nearest;
use std::sync::Arc;

/// The operators and tables of a database.
pub(super) struct KnownNames {
    operators: Vec<String>,
    tables: Vec<Arc<str>>,
}

/// How many names are offered.
const MOST: usize = 3;

/// What a query without inputs lacks.
const NO_INPUTS: &str = "no inputs are given: name each tensor, such as 16,5120:bf16";

impl KnownNames {
    pub(super) fn of(database: &Database) -> KnownNames {
        KnownNames { operators: database.operators(), tables: database.kernel_types() }
    }

    /// What is meant by a query of a name that is unknown, or without inputs; `None` where both are there.
    pub(super) fn hint(&self, query: &Query) -> Option<String> {
        let name = query.name();
        let of_name = if query.is_of_kernel() { self.of_kernel(name) } else { self.of_operator(name) };
        of_name.or_else(|| query.input_shapes().is_empty().then(|| NO_INPUTS.to_owned()))
    }

    fn of_kernel(&self, name: &str) -> Option<String> {
        if self.tables.iter().any(|table| **table == *name) {
            return None;
        }
        if let Some(operator) = self.operators.iter().find(|operator| *operator == name) {
            return Some(format!("{operator} is an operator: leave out --kernel"));
        }
        let near = self.near_table(name).map(|table| format!("did you mean --kernel {table}?"));
        Some(near.unwrap_or_else(|| self.list()))
    }

    fn of_operator(&self, name: &str) -> Option<String> {
        if self.operators.iter().any(|operator| operator.trim_start_matches("torch.ops.") == name) {
            return None;
        }
        if let Some(table) = self.tables.iter().find(|table| table.eq_ignore_ascii_case(name)) {
            return Some(format!("{table} is a table: use --kernel {table}"));
        }
        let parts: Vec<&String> = self.operators.iter().filter(|operator| has_part(operator, name)).collect();
        if !parts.is_empty() {
            let named: Vec<&str> = parts.iter().take(MOST).map(|operator| operator.as_str()).collect();
            return Some(format!("did you mean {}?", named.join(" or ")));
        }
        let near = nearest(name, self.operators.iter().map(String::as_str), str::to_lowercase);
        Some(match (near, self.near_table(name)) {
            (Some(operator), _) => format!("did you mean {operator}?"),
            (None, Some(table)) => format!("did you mean --kernel {table}?"),
            (None, None) => self.list(),
        })
    }

    fn near_table(&self, name: &str) -> Option<&str> {
        nearest(name, self.tables.iter().map(|table| &**table), str::to_lowercase)
    }

    fn list(&self) -> String {
        format!("--list shows what is here (operators: {}, tables: {})", self.operators.len(), self.tables.len())
    }
}

/// Whether `name` is one or several parts of an operator's name: `mm` and `aten.mm` of `aten.mm.default`.
fn has_part(operator: &str, name: &str) -> bool {
    let parts = |text: &str| text.split(['.', ':']).filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
    let (operator, name): (Vec<String>, Vec<String>) = (parts(operator), parts(name));
    !name.is_empty() && operator.windows(name.len()).any(|window| window == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_there_lead_to_those_that_are() {
        let names = KnownNames {
            operators: ["aten.mm.default", "aten.addmm.default", "tensor_cast.swiglu.default"]
                .map(str::to_owned)
                .into(),
            tables: ["MatMulV2", "SwiGlu"].map(Arc::from).into(),
        };
        for (operator, hint) in [
            ("mm", "did you mean aten.mm.default?"),
            ("aten.mm", "did you mean aten.mm.default?"),
            ("aten::mm", "did you mean aten.mm.default?"),
            ("matmulv2", "MatMulV2 is a table: use --kernel MatMulV2"),
            ("aten.mm.default", NO_INPUTS),
            ("aten.mm.defualt", "did you mean aten.mm.default?"),
            ("MatMul", "did you mean --kernel MatMulV2?"),
            ("zzz", "--list shows what is here (operators: 3, tables: 2)"),
        ] {
            assert_eq!(names.hint(&Query::operator(operator)).as_deref(), Some(hint), "{operator}");
        }
        let tensor = || perfdb_query::Tensor::new([16, 16], perfdb_query::DType::BFloat16);
        assert_eq!(names.hint(&Query::operator("torch.ops.aten.mm.default").input(tensor())), None);
        for (kernel, hint) in [
            ("matmulv2", Some("did you mean --kernel MatMulV2?")),
            ("aten.mm.default", Some("aten.mm.default is an operator: leave out --kernel")),
            ("MatMulV2", None),
        ] {
            assert_eq!(names.hint(&Query::kernel(kernel).input(tensor())).as_deref(), hint, "{kernel}");
        }
    }
}
