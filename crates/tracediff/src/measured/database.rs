//! The new database of what was measured: its tables, and which of them answer the operators of models.

use perfdb_store::new_database::{MappedOperator, NewDatabase, NewTable};
use perfdb_store::registry::KernelClass;
use perfdb_store::registry::parts::{ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER};

use super::Measured;

/// Operators of models: the tables of an operator of PyTorch, or of a class, and how they are asked.
const OPERATORS: [(&str, From, (&str, &str)); 7] = [
    ("aten.mm.default", From::Tables("aten_mm"), ("tc_input_count", "2")),
    ("aten.bmm.default", From::Tables("aten_bmm"), ("tc_input_count", "2")),
    ("tensor_cast.attention.default", From::Attention, ("query_mode", "attention_special")),
    ("tensor_cast.all_reduce.default", From::Tables(ALL_REDUCE), ("category", "communication")),
    ("tensor_cast.all_gather.default", From::Tables(ALL_GATHER), ("category", "communication")),
    ("tensor_cast.reduce_scatter.default", From::Tables(REDUCE_SCATTER), ("category", "communication")),
    ("tensor_cast.all_to_all.default", From::Tables(ALL_TO_ALL), ("category", "communication")),
];

/// Which tables answer.
enum From {
    /// That of this name, and those of it with a library behind it.
    Tables(&'static str),
    /// All of attention, those of single tokens first.
    Attention,
}

impl Measured {
    /// The database to be written.
    pub fn database(&self) -> NewDatabase {
        let tables = self.tables.iter().map(|(name, table)| {
            let new = NewTable { kind: table.kind.clone(), header: table.header.clone(), rows: table.rows.clone() };
            (name.clone(), new)
        });
        let operators = OPERATORS.iter().filter_map(|(operator, from, (key, value))| {
            let mut tables: Vec<(bool, &String)> = self
                .tables
                .iter()
                .filter(|(name, table)| from.takes(name, table.kind.class))
                .map(|(name, table)| (table.kind.class != KernelClass::DecodeAttention, name))
                .collect();
            tables.sort();
            let tables: Vec<String> = tables.into_iter().map(|(_, name)| name.clone()).collect();
            let more = vec![(*key, (*value).to_owned())];
            (!tables.is_empty()).then(|| MappedOperator { name: (*operator).to_owned(), tables, more })
        });
        NewDatabase {
            heading: "Made by database-from-trace of GPU traces.".to_owned(),
            device: self.device.clone(),
            tables: tables.collect(),
            operators: operators.collect(),
            mapping: None,
        }
    }
}

impl From {
    fn takes(&self, table: &str, class: KernelClass) -> bool {
        match self {
            From::Tables(name) => table
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.strip_prefix('_').is_some_and(super::sources::is_library)),
            From::Attention => matches!(class, KernelClass::PrefillAttention | KernelClass::DecodeAttention),
        }
    }
}
