//! Which family a kernel belongs to.

use super::family::{Family, TABLE, WIDEST_HEAD, canonical_type, is_operator, operator_family, table_family};
use super::operands::Operands;
use crate::error::Error;
use perfdb_pycompat::yaml::{self, Node};
use perfdb_store::op_mapping::OpMapping;
use perfdb_store::registry::parts::RMS_NORM;
use perfdb_trace::source::Source;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::path::Path;

/// Which family a kernel belongs to: the user's choice, then the table of this program, then the operator mapping.
#[derive(Debug, Clone, Default)]
pub struct Families {
    given: FxHashMap<String, Family>,
    mapped: FxHashMap<String, Family>,
}

impl Families {
    /// Puts the kernel types of each mapping entry into one family; the first entry of a type wins.
    pub fn learn(&mut self, mapping: &OpMapping) {
        for entry in mapping.operator_mappings.iter().flat_map(|entries| entries.values()) {
            let main = entry.kernel_type.iter().chain(&entry.alternate_kernel_types);
            let types: Vec<&String> = main.filter(|name| !name.is_empty()).collect();
            let Some(first) = types.first() else { continue };
            let known = types.iter().find_map(|name| TABLE.get(canonical_type(name)));
            let family = match known {
                Some(family) => Cow::Borrowed(*family),
                None => Cow::Owned(format!("type:{}", canonical_type(first))),
            };
            for name in types {
                self.mapped.entry(name.clone()).or_insert_with(|| family.clone());
            }
        }
    }

    /// Reads a YAML map of kernel types to families.
    ///
    /// # Errors
    /// When the file can't be read or is not a map of texts to texts.
    pub fn read(path: &Path) -> Result<Families, Error> {
        let text = Source::open(path)?.read_text()?;
        let refused = |reason: String| Error::FamiliesFile { path: path.to_owned(), reason };
        let Node::Map(map) = yaml::parse(&text).map_err(|error| refused(error.to_string()))? else {
            return Err(refused("a map of kernel types to families is needed".to_owned()));
        };
        let mut families = Families::default();
        for (kernel_type, family) in map.iter() {
            let kernel_type = kernel_type.to_string();
            let Some(family) = family.as_text() else {
                return Err(refused(format!("the family of {kernel_type} must be a text, not {}", family.kind())));
            };
            families.put(&kernel_type, family);
        }
        Ok(families)
    }

    /// Puts a kernel type into a family of the user's choice.
    pub fn put(&mut self, kernel_type: &str, family: &str) {
        self.given.insert(kernel_type.to_owned(), Cow::Owned(family.to_owned()));
    }

    /// The family of a kernel. `widest_norm` is the width of the widest norm of the pass.
    pub(crate) fn family(&self, kernel_type: &str, operands: Option<&Operands>, widest_norm: i64) -> Family {
        if let Some(family) = self.given.get(kernel_type) {
            return family.clone();
        }
        let name = canonical_type(kernel_type);
        if name == RMS_NORM
            && let Some(width) = operands.and_then(Operands::width)
            && width <= WIDEST_HEAD
            && width < widest_norm
        {
            return Cow::Borrowed("rope");
        }
        if let Some(family) = table_family(kernel_type) {
            return Cow::Borrowed(family);
        }
        let mapped = self.mapped.get(kernel_type).or_else(|| self.mapped.get(name));
        if let Some(family) = mapped {
            return family.clone();
        }
        match is_operator(kernel_type).then(|| operator_family(kernel_type)).flatten() {
            Some(family) => Cow::Borrowed(family),
            None => Cow::Owned(format!("type:{name}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_by_their_names() {
        let family = |name: &str| Families::default().family(name, None, 0).into_owned();
        assert_eq!(family("tensor_cast.static_quant_linear.default"), "gemm");
        assert_eq!(family("tensor_cast.matmul_all_reduce.default"), "collective");
        assert_eq!(family("aten.matmul.default"), "gemm");
        assert_eq!(family("aten.convert_element_type.default"), "copy");
        assert_eq!(family("other.thing"), "type:other.thing");
        assert_eq!(family("custom_part_1"), "type:custom_part");
    }

    #[test]
    fn mapping_and_user() {
        let mapping = OpMapping::parse(
            "operator_mappings:\n  a: {kernel_type: NewMatMul, alternate_kernel_types: [MatMulV2]}\n  b: {kernel_type: Strange_5, alternate_kernel_types: [Odd]}\n",
        )
        .unwrap();
        let mut families = Families::default();
        families.learn(&mapping);
        let family = |families: &Families, name: &str| families.family(name, None, 0).into_owned();
        assert_eq!(family(&families, "NewMatMul"), "gemm");
        assert_eq!(family(&families, "Odd"), "type:Strange");
        families.put("Odd", "gemm");
        assert_eq!(family(&families, "Odd"), "gemm");
    }

    #[test]
    fn norms_of_heads() {
        let narrow = Operands(vec![vec![16, 128]]);
        let family = |widest| Families::default().family("RmsNorm", Some(&narrow), widest).into_owned();
        assert_eq!((family(5120), family(128)), ("rope".to_owned(), "norm_add".to_owned()));
    }
}
