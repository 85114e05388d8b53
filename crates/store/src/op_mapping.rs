//! `op_mapping.yaml`: which kernel the simulator looks up for an operator.
//!
//! [`OpMapping`] holds the whole file, typed; keys that the schema does not know, and values of another type than it
//! wants, stay in the `other` map of their level, so that nothing of a newer file is lost. Loading therefore only fails
//! when the file is not one YAML map.
//!
//! ```
//! use perfdb_store::op_mapping::{Lookup, OpMapping};
//!
//! let mapping = OpMapping::parse(
//!     "version: 0.18.0\noperator_mappings:\n  aten.mm.default:\n    kernel_type: MatMulV2\n",
//! ).unwrap();
//! let entry = mapping.find("torch.ops.aten.mm.default", Lookup::Nested).unwrap();
//! assert_eq!(entry.kernel_type.as_deref(), Some("MatMulV2"));
//! assert!(mapping.find("aten.mm.default", Lookup::TopLevel).is_none());
//! ```

mod entry;
mod fields;
mod policies;
mod reference;

pub use entry::{Class, Entry, TpLinearProjection};
pub use policies::{
    CoreEnvelopeFallback, GenericCompute, InterpolationOverride, InterpolationPolicy, SelectionOverride,
    SelectionPolicy,
};
pub use reference::{Api, KernelReference, with_collectives_in};

use fields::Fields;
use indexmap::IndexMap;
use perfdb_pycompat::yaml::{self, Map, Node};
use perfdb_trace::source::Source;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The prefix that operator names have in some traces and never in a mapping.
const TORCH_OPS: &str = "torch.ops.";

/// Why an operator mapping can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read, is not text or a Git LFS pointer.
    #[error(transparent)]
    Read(#[from] perfdb_trace::Error),
    /// The text is not one YAML document.
    #[error("{}: {source}", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        source: yaml::Error,
    },
    /// The document is something other than a map.
    #[error("{}: the top level must be a map, not {kind}", path.display())]
    NotAMap {
        /// The file.
        path: PathBuf,
        /// What stands there instead.
        kind: &'static str,
    },
}

/// Why a text is not an operator mapping.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// The text is not one YAML document.
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    /// The document is something other than a map.
    #[error("the top level must be a map, not {0}")]
    NotAMap(&'static str),
}

/// Where operator names are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// At the top level of the file only, where no known file has its entries: the original tools do this.
    TopLevel,
    /// Under `operator_mappings`, then at the top level.
    Nested,
}

/// A whole `op_mapping.yaml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpMapping {
    /// Version of the serving stack the data was collected with.
    pub version: Option<String>,
    /// Name of the accelerator, as in the path of the database.
    pub device: Option<String>,
    /// Version of CANN.
    pub cann_version: Option<String>,
    /// Version of PyTorch.
    pub pytorch_version: Option<String>,
    /// Version of op-plugin.
    pub op_plugin_version: Option<String>,
    /// Day of the collection.
    pub collection_date: Option<String>,
    /// Path of the collective tables, relative to the file.
    pub communication_data_ref: Option<String>,
    /// What answers for a collective that the tables lack: `analytic`.
    pub communication_fallback: Option<String>,
    /// How the simulator interpolates between rows.
    pub interpolation_policy: Option<InterpolationPolicy>,
    /// Which duration of a row counts.
    pub latency_policy: Option<SelectionPolicy>,
    /// Which of several matching rows counts.
    pub query_selection_policy: Option<SelectionPolicy>,
    /// Operator name to entry; `None` if the file has no such map.
    pub operator_mappings: Option<IndexMap<String, Entry>>,
    /// Kernel type to where it comes from.
    pub torch_npu_reference: IndexMap<String, KernelReference>,
    /// Everything else at the top level.
    pub other: Map,
    /// The file as it is, for look-ups at its top level.
    root: Map,
}

impl OpMapping {
    /// Reads the file; `None` if there is none at this path.
    ///
    /// # Errors
    /// When the file can't be read or is not one YAML map.
    pub fn load(path: &Path) -> Result<Option<OpMapping>, Error> {
        let text = match Source::open_regular(path).and_then(|mut source| source.read_text()) {
            Ok(text) => text,
            // A link that leads nowhere is no missing file: somebody put a mapping there.
            Err(error) if error.is_missing() && !path.is_symlink() => return Ok(None),
            // A file in place of a folder on the way to it.
            Err(perfdb_trace::Error::Io { source, .. }) if source.kind() == ErrorKind::NotADirectory => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        OpMapping::parse(&text).map(Some).map_err(|malformed| match malformed {
            Malformed::Yaml(source) => Error::Yaml { path: path.to_owned(), source },
            Malformed::NotAMap(kind) => Error::NotAMap { path: path.to_owned(), kind },
        })
    }

    /// Reads the text of a file. An empty document is an empty mapping.
    ///
    /// # Errors
    /// When the text is not one YAML map.
    pub fn parse(text: &str) -> Result<OpMapping, Malformed> {
        match yaml::parse(text)? {
            Node::Map(root) => Ok(OpMapping::from_map(root)),
            node if !node.is_truthy() => Ok(OpMapping::default()),
            node => Err(Malformed::NotAMap(node.kind())),
        }
    }

    fn from_map(root: Map) -> OpMapping {
        let mut fields = Fields::new(root.clone());
        OpMapping {
            version: fields.text("version"),
            device: fields.text("device"),
            cann_version: fields.text("cann_version"),
            pytorch_version: fields.text("pytorch_version"),
            op_plugin_version: fields.text("op_plugin_version"),
            collection_date: fields.text("collection_date"),
            communication_data_ref: fields.text("communication_data_ref"),
            communication_fallback: fields.text("communication_fallback"),
            interpolation_policy: fields.map("interpolation_policy").map(InterpolationPolicy::from_map),
            latency_policy: fields.map("latency_policy").map(SelectionPolicy::from_map),
            query_selection_policy: fields.map("query_selection_policy").map(SelectionPolicy::from_map),
            operator_mappings: fields
                .has_map("operator_mappings")
                .then(|| fields.maps("operator_mappings", Entry::from_map)),
            torch_npu_reference: fields.maps("torch_npu_reference", KernelReference::from_map),
            other: fields.rest(),
            root,
        }
    }

    /// The entry of an operator, as a trace names it (with `torch.ops.` or without).
    ///
    /// [`Lookup::TopLevel`]: the top-level key without the prefix, or the full name if that is missing or empty; it has to be
    /// a map. [`Lookup::Nested`]: the first map with content among both names under `operator_mappings`, then both at the top.
    pub fn find(&self, operator: &str, lookup: Lookup) -> Option<Cow<'_, Entry>> {
        let short = if operator.contains(TORCH_OPS) {
            Cow::Owned(operator.replace(TORCH_OPS, ""))
        } else {
            Cow::Borrowed(operator)
        };
        let top = |name: &str| self.root.get(name).filter(|node| node.is_truthy());
        let as_entry = |node: &Node| node.as_map().cloned().map(Entry::from_map).map(Cow::Owned);
        if lookup == Lookup::TopLevel {
            return top(&short).or_else(|| top(operator)).and_then(as_entry);
        }
        let nested = |name: &str| self.operator_mappings.as_ref()?.get(name).filter(|entry| !entry.is_empty());
        if let Some(entry) = nested(&short).or_else(|| nested(operator)) {
            return Some(Cow::Borrowed(entry));
        }
        top(&short).and_then(as_entry).or_else(|| top(operator).and_then(as_entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_lookup_sees_the_top_level_alone() {
        let mapping = OpMapping::parse(
            "a: {kernel_type: A}\ntorch.ops.b: {kernel_type: B}\nc: text\ntorch.ops.c: {kernel_type: C}\nd: {}\n\
             torch.ops.d: {kernel_type: D}\noperator_mappings: {e: {kernel_type: E}, a: {kernel_type: N}}",
        )
        .unwrap();
        let kernel = |name: &str, lookup| mapping.find(name, lookup).and_then(|entry| entry.into_owned().kernel_type);
        assert_eq!(kernel("torch.ops.a", Lookup::TopLevel).as_deref(), Some("A"));
        assert_eq!(kernel("torch.ops.b", Lookup::TopLevel).as_deref(), Some("B"));
        assert_eq!(kernel("b", Lookup::TopLevel), None);
        assert_eq!(kernel("torch.ops.c", Lookup::TopLevel), None, "a text hides the longer name");
        assert_eq!(kernel("torch.ops.d", Lookup::TopLevel).as_deref(), Some("D"), "an empty map does not");
        assert_eq!(kernel("e", Lookup::TopLevel), None);
        assert_eq!(kernel("e", Lookup::Nested).as_deref(), Some("E"));
        assert_eq!(kernel("a", Lookup::Nested).as_deref(), Some("N"));
        assert_eq!(kernel("torch.ops.b", Lookup::Nested).as_deref(), Some("B"));
        assert_eq!(kernel("torch.ops.c", Lookup::Nested).as_deref(), Some("C"));
    }

    #[test]
    fn a_link_that_leads_nowhere_is_an_error() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("op_mapping.yaml");
        assert!(OpMapping::load(&path)?.is_none());
        std::os::unix::fs::symlink("nowhere", &path)?;
        let error = OpMapping::load(&path).err().ok_or("a link that leads nowhere was read")?;
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
        Ok(())
    }

    #[test]
    fn every_occurrence_of_the_prefix_goes() {
        let mapping = OpMapping::parse("xy: {kernel_type: A}").unwrap();
        assert!(mapping.find("torch.ops.xtorch.ops.y", Lookup::TopLevel).is_some());
    }

    #[test]
    fn values_of_another_type_and_unknown_keys_are_kept() {
        let mapping = OpMapping::parse(
            "version: 0.18\nfuture: [1]\noperator_mappings: {a: {kernel_type: 5, sub_kernels: X, new: 1}, b: 7}\nlatency_policy: 3",
        )
        .unwrap();
        assert_eq!(mapping.version, None);
        assert_eq!(mapping.other.get("version"), Some(&Node::Float(0.18)));
        assert!(mapping.other.get("future").is_some() && mapping.other.get("latency_policy").is_some());
        let entries = mapping.operator_mappings.as_ref().unwrap();
        let entry = &entries["a"];
        assert_eq!((&entry.kernel_type, entry.other.len()), (&None, 3));
        assert_eq!(entry.other.get("kernel_type"), Some(&Node::Integer(5)));
        assert_eq!(entries.len(), 1);
        let rest = mapping.other.get("operator_mappings").and_then(Node::as_map).unwrap();
        assert_eq!(rest.get("b"), Some(&Node::Integer(7)));
    }

    #[test]
    fn empty_is_an_empty_mapping_and_a_list_is_none() {
        for text in ["", "null", "{}", "[]", "false", "''"] {
            assert_eq!(OpMapping::parse(text).unwrap(), OpMapping::default(), "{text:?}");
        }
        for text in ["[1]", "text", "7"] {
            assert!(matches!(OpMapping::parse(text), Err(Malformed::NotAMap(_))), "{text:?}");
        }
    }

    #[test]
    fn policies_and_references_are_typed() {
        let mapping = OpMapping::parse(
            "interpolation_policy:\n  default_method: linear\n  kernel_overrides:\n    F: {shape_transform: sqrt, max_interpolation_dim: 1}\n\
             latency_policy: {kernel_overrides: {M: {prefer_profiling_rows: yes, profiling_core_envelope_fallback: {max_duration_to_core_ratio: 2}}}}\n\
             torch_npu_reference:\n  M: {apis: [{name: torch.mm, note: n}, plain], aclnn: aclnnMm, microbench_api: torch.mm}\n  N: {aclnn: null}\n",
        )
        .unwrap();
        let interpolation = mapping.interpolation_policy.unwrap();
        assert_eq!(interpolation.default_method.as_deref(), Some("linear"));
        assert_eq!(interpolation.kernel_overrides["F"].shape_transform.as_deref(), Some("sqrt"));
        assert_eq!(interpolation.kernel_overrides["F"].max_interpolation_dim, Some(1));
        let latency = &mapping.latency_policy.unwrap().kernel_overrides["M"];
        assert_eq!(latency.prefer_profiling_rows, Some(true));
        assert_eq!(latency.profiling_core_envelope_fallback.as_ref().unwrap().max_duration_to_core_ratio, Some(2.0));
        let reference = &mapping.torch_npu_reference["M"];
        assert_eq!(reference.apis[0], Api { name: "torch.mm".into(), note: Some("n".into()), other: Map::default() });
        assert_eq!(reference.apis[1], Api { name: "plain".into(), ..Api::default() });
        assert_eq!(reference.aclnn, ["aclnnMm"]);
        assert!(mapping.torch_npu_reference["N"].aclnn.is_empty());
    }
}
