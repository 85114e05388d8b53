//! What is known about kernel types: their class and where their operands stand.
//!
//! [`kernel`] knows the names of the registry itself. A database can say what its own tables are, under `kernel_tables` in its
//! `op_mapping.yaml`; what stands there goes before the registry:
//!
//! ```
//! use perfdb_store::op_mapping::OpMapping;
//! use perfdb_store::registry::{KernelClass, Layout, Registry};
//!
//! let mapping = OpMapping::parse("kernel_tables:\n  gemm_fp8: {class: matmul, layout: k_n, source: cutlass}\n").unwrap();
//! let registry = Registry::of_mapping(&mapping)?;
//! let gemm = registry.table("gemm_fp8");
//! assert_eq!((gemm.class, gemm.layout), (KernelClass::MatMul, Some(Layout::KN)));
//! assert_eq!(registry.table("RmsNorm").class, KernelClass::Norm);
//! assert_eq!(registry.table("new_kernel").class, KernelClass::Generic);
//! # Ok::<(), perfdb_store::registry::Error>(())
//! ```

mod class;
mod kernels;

pub use class::{KernelClass, Layout};

use crate::op_mapping::{self, OpMapping};
use perfdb_pycompat::yaml::{Key, Map, Node};
use std::collections::BTreeMap;
use std::path::Path;

/// The key of `op_mapping.yaml` under which a database describes its tables.
pub const KERNEL_TABLES: &str = "kernel_tables";

/// A kernel type that the registry knows by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelType {
    /// The name, which is also that of its table.
    pub name: &'static str,
    /// What it does.
    pub class: KernelClass,
    /// Where its operands stand; `None` where the shapes of a row tell.
    pub layout: Option<Layout>,
    /// The kernels that measure the same calls, this one too, in the order in which they are tried.
    interchangeable: &'static [&'static str],
}

/// What one table of a database holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableType {
    /// What its kernel does.
    pub class: KernelClass,
    /// Where its operands stand; `None` where the shapes of a row tell.
    pub layout: Option<Layout>,
    /// The implementation that was measured: `vllm_flash_attn_fa3`.
    pub source: Option<String>,
}

/// Why a description of tables can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The mapping can't be read.
    #[error(transparent)]
    Mapping(#[from] op_mapping::Error),
    /// Something other than a map.
    #[error("{place}: must be a map, not {kind}")]
    NotAMap {
        /// The keys that lead there.
        place: String,
        /// What stands there instead.
        kind: &'static str,
    },
    /// A key with a value that is unknown or of another type than a text.
    #[error("{KERNEL_TABLES}.{table}.{key}: must be {wanted}, not {given}")]
    Value {
        /// The table.
        table: String,
        /// The key.
        key: &'static str,
        /// What can stand there.
        wanted: String,
        /// What stands there.
        given: String,
    },
}

/// A kernel type by its exact name.
pub fn kernel(name: &str) -> Option<&'static KernelType> {
    kernels::TABLE.binary_search_by(|row| row.name.cmp(name)).ok().map(|at| &kernels::TABLE[at])
}

/// The other kernels whose measurements fit this one's rows, in the order in which they are tried.
pub(crate) fn siblings(name: &str) -> impl Iterator<Item = &'static str> {
    let group = kernel(name).map_or(&[] as &[_], |kernel| kernel.interchangeable);
    group.iter().copied().filter(move |other| *other != name)
}

/// Whether rows of other kernels can answer for this one's.
pub(crate) fn is_interchangeable(name: &str) -> bool {
    kernel(name).is_some_and(|kernel| !kernel.interchangeable.is_empty())
}

/// What the tables of one database are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry {
    tables: BTreeMap<String, TableType>,
}

impl Registry {
    /// Reads what the database in a directory says about its tables. A database without a mapping says nothing.
    ///
    /// # Errors
    /// When its mapping can't be read, or describes a table with something unknown.
    pub fn of_database(directory: &Path) -> Result<Registry, Error> {
        match OpMapping::load(&directory.join("op_mapping.yaml"))? {
            Some(mapping) => Registry::of_mapping(&mapping),
            None => Ok(Registry::default()),
        }
    }

    /// Takes what a mapping says about tables.
    ///
    /// # Errors
    /// When it describes a table with something unknown.
    pub fn of_mapping(mapping: &OpMapping) -> Result<Registry, Error> {
        let Some(node) = mapping.other.get(KERNEL_TABLES) else { return Ok(Registry::default()) };
        let mut tables = BTreeMap::new();
        for (key, node) in map(node, || KERNEL_TABLES.to_owned())?.iter() {
            let Key::Text(name) = key else { continue };
            let fields = map(node, || format!("{KERNEL_TABLES}.{name}"))?;
            tables.insert(name.to_string(), TableType::of_fields(name, fields)?);
        }
        Ok(Registry { tables })
    }

    /// What a table is: as the database says, else as the registry knows its name, else of the generic class.
    pub fn table(&self, name: &str) -> TableType {
        self.described(name).unwrap_or(TableType { class: KernelClass::Generic, layout: None, source: None })
    }

    /// The same, or `None` for a table that neither the database nor the registry describes.
    pub fn described(&self, name: &str) -> Option<TableType> {
        let known = |kernel: &KernelType| TableType { class: kernel.class, layout: kernel.layout, source: None };
        self.tables.get(name).cloned().or_else(|| kernel(name).map(known))
    }
}

impl TableType {
    fn of_fields(table: &str, fields: &Map) -> Result<TableType, Error> {
        let class = choice(table, fields, "class", &KernelClass::ALL, KernelClass::name)?;
        let layout = choice(table, fields, "layout", &Layout::ALL, Layout::name)?;
        let known = kernel(table);
        Ok(TableType {
            class: class.or(known.map(|kernel| kernel.class)).unwrap_or(KernelClass::Generic),
            layout: layout.or(known.and_then(|kernel| kernel.layout)),
            source: text(table, fields, "source", || "a text".to_owned())?.map(str::to_owned),
        })
    }
}

fn map(node: &Node, place: impl Fn() -> String) -> Result<&Map, Error> {
    node.as_map().ok_or_else(|| Error::NotAMap { place: place(), kind: node.kind() })
}

fn text<'a>(
    table: &str,
    fields: &'a Map,
    key: &'static str,
    wanted: impl Fn() -> String,
) -> Result<Option<&'a str>, Error> {
    let Some(node) = fields.get(key) else { return Ok(None) };
    let wrong = || Error::Value { table: table.to_owned(), key, wanted: wanted(), given: node.kind().to_owned() };
    node.as_text().ok_or_else(wrong).map(Some)
}

fn choice<T: Copy>(
    table: &str,
    fields: &Map,
    key: &'static str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<Option<T>, Error> {
    let wanted = || format!("one of {}", all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", "));
    let Some(given) = text(table, fields, key, wanted)? else { return Ok(None) };
    let found = all.iter().copied().find(|one| name(*one) == given);
    let wrong = || Error::Value { table: table.to_owned(), key, wanted: wanted(), given: format!("{given:?}") };
    found.ok_or_else(wrong).map(Some)
}

#[cfg(test)]
mod tests;
