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
mod described;
mod families;
mod kernels;
pub mod parts;
mod replayable;
mod upstream;

pub use class::{KernelClass, Layout};
pub use described::{with_operator, with_tables};
pub use families::{COMPOSITES, FAMILIES};
pub(crate) use kernels::without_variant;
pub use replayable::{OF_CUSTOM_PACKAGE, REPLAYABLE};
pub use upstream::Upstream;

use crate::op_mapping::{self, OpMapping};
use perfdb_pycompat::yaml::{Key, Map, Node};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// The patterns by which shape grids of kernels are made: the `assignments` of a file of rules.
pub const SHAPE_PATTERNS: &str = include_str!("registry/shape_patterns.yaml");

/// The key of `op_mapping.yaml` under which operators are looked up.
const OPERATOR_MAPPINGS: &str = "operator_mappings";

/// The key of `op_mapping.yaml` under which a database describes its tables.
pub(crate) const KERNEL_TABLES: &str = "kernel_tables";

/// A kernel type that the registry knows by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelType {
    /// The name, which is also that of its table.
    pub name: &'static str,
    /// What it does.
    pub class: KernelClass,
    /// Where its operands stand; `None` where the shapes of a row tell.
    pub layout: Option<Layout>,
    /// What the simulator's readers make of it.
    pub upstream: Upstream,
    /// What makes two of its rows one case.
    pub case: Case,
    /// The kernels that measure the same calls, this one too, in the order in which they are tried.
    interchangeable: &'static [&'static str],
}

/// What makes two rows one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// All inputs and outputs.
    AllInputs,
    /// Rows, inner dimension and columns, however the weight lies.
    Product,
    /// The first input, and how many elements are taken.
    Index,
    /// The first input.
    FirstInput,
    /// All inputs, and the expert-parallel size.
    ExpertParallel,
}

/// What one table of a database holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableType {
    /// What its kernel does.
    pub class: KernelClass,
    /// Where its operands stand; `None` where the shapes of a row tell.
    pub layout: Option<Layout>,
    /// The implementation that was measured: `vllm_flash_attn_fa3`.
    pub source: Option<String>,
    /// What the dimensions of the first input are called, where a table has no shapes of its own.
    pub sizes: Vec<String>,
    /// The tokens that a query of attention sees at most; `None` for all.
    pub window: Option<u64>,
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
    // Asked for each row of a profile.
    static BY_NAME: LazyLock<FxHashMap<&str, &KernelType>> =
        LazyLock::new(|| kernels::TABLE.iter().map(|row| (row.name, row)).collect());
    BY_NAME.get(name).copied()
}

/// The class of a kernel type by its name alone.
pub fn class_of(name: &str) -> KernelClass {
    match kernel(name) {
        Some(kernel) => kernel.class,
        None if name.starts_with(parts::COLLECTIVE_PREFIX) => KernelClass::Collective,
        None => KernelClass::Generic,
    }
}

/// Whether the registry knows a kernel type by its name: its class, or at least its family.
pub fn is_known(name: &str) -> bool {
    let bare = name.strip_suffix("AiCore").or_else(|| name.strip_suffix("Aicore")).unwrap_or(name);
    let is_of_family = |(_, names): &(&str, &[&str])| names.contains(&name) || names.contains(&bare);
    kernel(name).is_some() || is_collective(name) || FAMILIES.iter().any(is_of_family)
}

/// Whether a kernel type is a collective by its name alone.
pub fn is_collective(name: &str) -> bool {
    class_of(name) == KernelClass::Collective
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
        self.described(name).unwrap_or_default()
    }

    /// The class of a table.
    pub fn class(&self, name: &str) -> KernelClass {
        match self.tables.get(name) {
            Some(table) => table.class,
            None => class_of(name),
        }
    }

    /// Whether a table is of a collective: its rows are message sizes.
    pub fn is_collective(&self, name: &str) -> bool {
        self.class(name) == KernelClass::Collective
    }

    /// Whether the database itself describes a table.
    pub fn declares(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    /// The same, or `None` for a table that neither the database nor the registry describes.
    pub fn described(&self, name: &str) -> Option<TableType> {
        if let Some(table) = self.tables.get(name) {
            return Some(table.clone());
        }
        let is_known = kernel(name).is_some() || class_of(name) != KernelClass::Generic;
        is_known.then(|| TableType {
            class: class_of(name),
            layout: kernel(name).and_then(|kernel| kernel.layout),
            ..TableType::default()
        })
    }
}

impl TableType {
    /// What stands in a mapping: a map in one line.
    pub(crate) fn description(&self) -> String {
        let mut fields = vec![format!("class: {}", self.class.name())];
        fields.extend(self.layout.map(|layout| format!("layout: {}", layout.name())));
        // What YAML reads as another thing than a text is quoted.
        let source = self.source.as_ref().map(|source| serde_json::Value::from(source.as_str()));
        fields.extend(source.map(|source| format!("source: {source}")));
        fields.extend(self.window.map(|window| format!("window: {window}")));
        if !self.sizes.is_empty() {
            fields.push(format!("sizes: [{}]", self.sizes.join(", ")));
        }
        format!("{{{}}}", fields.join(", "))
    }

    fn of_fields(table: &str, fields: &Map) -> Result<TableType, Error> {
        let class = choice(table, fields, "class", &KernelClass::ALL, KernelClass::name)?;
        let layout = choice(table, fields, "layout", &Layout::ALL, Layout::name)?;
        Ok(TableType {
            class: class.unwrap_or_else(|| class_of(table)),
            layout: layout.or(kernel(table).and_then(|kernel| kernel.layout)),
            source: text(table, fields, "source", || "a text".to_owned())?.map(str::to_owned),
            sizes: texts(table, fields, "sizes")?,
            window: size(table, fields, "window")?,
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

fn texts(table: &str, fields: &Map, key: &'static str) -> Result<Vec<String>, Error> {
    let Some(node) = fields.get(key) else { return Ok(Vec::new()) };
    let list = node.as_list().and_then(|list| list.iter().map(|node| node.as_text().map(str::to_owned)).collect());
    let given = || node.kind().to_owned();
    let wrong = || Error::Value { table: table.to_owned(), key, wanted: "a list of texts".to_owned(), given: given() };
    list.ok_or_else(wrong)
}

fn size(table: &str, fields: &Map, key: &'static str) -> Result<Option<u64>, Error> {
    let Some(node) = fields.get(key) else { return Ok(None) };
    let found = match node {
        Node::Integer(number) => u64::try_from(*number).ok().filter(|number| *number > 0),
        _ => None,
    };
    let given = || node.kind().to_owned();
    let wrong =
        || Error::Value { table: table.to_owned(), key, wanted: "an integer from 1".to_owned(), given: given() };
    found.ok_or_else(wrong).map(Some)
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
