//! When rows of two databases are the same case, and how a case is printed.

use perfdb_pycompat::text::trim;
use perfdb_store::columns::{
    COMMUNICATION, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_SHAPES, OUTPUT_TYPES,
};
use perfdb_store::registry::is_collective;
use perfdb_store::row_identity::{IdentityColumns, RowIdentity};
use perfdb_store::signature::{Cells, Rules, Variant};
use perfdb_store::slots::{normal_shape, split};
use std::borrow::Cow;
use std::fmt;

/// The columns that a case begins with.
const BASE: [&str; 6] = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, EP_SIZE];
const MESSAGE: [&str; 4] = [COMMUNICATION[0], COMMUNICATION[1], COMMUNICATION[2], COMMUNICATION[3]];

/// Between the parts of a case; no cell that means something has it.
const SEPARATOR: char = '\u{1f}';

/// What a row is a measurement of, for people. Whether two rows are the same says [`RowIdentity`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Case {
    /// Shapes, types and formats, or the sizes of a collective.
    pub(crate) parts: Box<str>,
    /// All other cells that lookups read, as `name=value`; empty for most rows.
    pub(crate) runtime: Box<str>,
}

impl Case {
    /// Input shapes, types and formats, output shapes and types, and the expert-parallel size where there is one; of a collective message size, devices, type and tier.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.split(SEPARATOR)
    }

    /// Runtime values; empty for most rows.
    pub fn runtime(&self) -> &str {
        &self.runtime
    }

    /// The first number of the case: rows of a matrix product, tokens of most other kernels, bytes of a collective.
    pub(crate) fn size(&self) -> Option<i64> {
        let end = self.parts.find(|character: char| !character.is_ascii_digit()).unwrap_or(self.parts.len());
        self.parts[..end].parse().ok()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self.parts().collect();
        match parts.as_slice() {
            [bytes, devices, dtype, tier] => {
                write!(formatter, "{bytes} bytes, {devices} devices, {dtype}, tier {tier}")?
            }
            [inputs, types, _, outputs, _, size @ ..] => {
                let shown = |text: &'_ str| if text.is_empty() { "N/A".to_owned() } else { text.to_owned() };
                write!(formatter, "{} -> {} {types}", shown(inputs), shown(outputs))?;
                if let Some(size) = size.first() {
                    write!(formatter, ", EP {size}")?;
                }
            }
            _ => formatter.write_str(&self.parts)?,
        }
        if self.runtime.is_empty() { Ok(()) } else { write!(formatter, " [{}]", self.runtime) }
    }
}

/// A row as it is compared with those of another table.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// Of all cells that are not measurements.
    pub(crate) identity: RowIdentity,
    /// Of those that lookups read.
    pub(crate) lookup: RowIdentity,
    pub(crate) case: Case,
    /// What rows of one case have in common, also where a weight lies the other way round or values are not filled in.
    pub(crate) signature: Box<str>,
}

/// How the rows of one table become cases.
#[derive(Debug, Clone)]
pub(crate) struct Naming {
    rules: Rules,
    is_collective: bool,
    identity: IdentityColumns,
    base: [Option<usize>; BASE.len()],
    message: [Option<usize>; MESSAGE.len()],
    /// Further columns that lookups read: name without `Runtime `, and position.
    further: Vec<(String, usize)>,
}

impl Naming {
    /// The naming of a kernel type's table with these columns, beside a table with the `other` columns.
    pub(crate) fn new(kernel_type: &str, columns: &[String], other: &[String]) -> Naming {
        let position = |name: &str| columns.iter().position(|known| known == name);
        let message = MESSAGE.map(position);
        let identity = IdentityColumns::shared_with(columns, other);
        let is_further = |name: &str| !BASE.contains(&name) && !MESSAGE.contains(&name) && name != "Output Formats";
        let mut further: Vec<(String, usize)> = IdentityColumns::of_lookups(columns)
            .iter()
            .filter(|(name, _)| is_further(name))
            .map(|(name, at)| (name.trim_start_matches("Runtime ").to_owned(), at))
            .collect();
        further.sort_by_key(|(_, at)| *at);
        Naming {
            rules: Rules::new(kernel_type, Variant::Database),
            is_collective: is_collective(kernel_type) && message.iter().all(Option::is_some),
            identity,
            base: BASE.map(position),
            message,
            further,
        }
    }

    /// The positions of the columns that are looked at.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        self.base.iter().chain(&self.message).flatten().copied().chain(self.identity.iter().map(|(_, at)| at))
    }

    /// A row, where `cell` gives the text of a column.
    pub(crate) fn row<'t>(&self, cell: impl Fn(usize) -> Cow<'t, str>) -> Known {
        let [identity, lookup] = self.identity.of_row_and_lookup(&cell);
        let text = |at: Option<usize>| at.map_or(Cow::Borrowed(""), &cell);
        if self.is_collective {
            let parts = joined(self.message.map(text).iter().map(|size| trim(size)));
            let case = Case { parts: parts.clone(), runtime: Box::default() };
            return Known { identity, lookup, case, signature: parts };
        }
        let texts = self.base.map(text);
        let [input_shapes, input_types, input_formats, output_shapes, output_types, ep_size] = texts.each_ref();
        let signature = self.rules.signature(&Cells {
            input_shapes,
            input_types,
            input_formats,
            output_shapes,
            output_types,
            ep_size,
        });
        // A product with a bias is another case than one without.
        let inputs = split(input_shapes).len();
        let signature = format!("{inputs}{SEPARATOR}{}", joined(signature.parts())).into();
        let shapes = |cell: &str| split(cell).into_iter().map(normal_shape).collect::<Vec<_>>().join(";");
        let slots = |cell: &str| split(cell).join(";");
        let parts = [
            shapes(input_shapes),
            slots(input_types),
            slots(input_formats),
            shapes(output_shapes),
            slots(output_types),
        ];
        let ep_size = Some(trim(ep_size)).filter(|size| !size.is_empty());
        let parts = joined(parts.iter().map(String::as_str).chain(ep_size));
        let mut runtime = String::new();
        for (name, at) in &self.further {
            let text = cell(*at);
            let text = trim(text.trim_matches('"'));
            if !text.is_empty() {
                let comma = if runtime.is_empty() { "" } else { ", " };
                runtime.push_str(&format!("{comma}{name}={text}"));
            }
        }
        Known { identity, lookup, case: Case { parts, runtime: runtime.into() }, signature }
    }
}

fn joined<'t>(parts: impl Iterator<Item = &'t str>) -> Box<str> {
    let mut text = String::with_capacity(96);
    for (at, part) in parts.enumerate() {
        if at > 0 {
            text.push(SEPARATOR);
        }
        text.push_str(part);
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(kernel_type: &str, cells: &[(&str, &'static str)]) -> Known {
        let columns: Vec<String> = cells.iter().map(|(name, _)| (*name).to_owned()).collect();
        Naming::new(kernel_type, &columns, &columns).row(|column| Cow::Borrowed(cells[column].1))
    }

    #[test]
    fn cases_are_printed_as_people_say_them() {
        let product = known(
            "MatMulV2",
            &[(INPUT_SHAPES, "\"16,512;2048,512\""), (INPUT_TYPES, "DT_BF16;DT_BF16"), (OUTPUT_SHAPES, "16,2048")],
        );
        assert_eq!(product.case.to_string(), "16,512;2048,512 -> 16,2048 DT_BF16;DT_BF16");
        assert_eq!(product.case.size(), Some(16));
        let sizes = [("message_bytes", "4096"), ("num_devices", "8"), ("dtype", "DT_BF16"), ("topology_tier", "2")];
        assert_eq!(known("hcom_allReduce_", &sizes).case.to_string(), "4096 bytes, 8 devices, DT_BF16, tier 2");
        // A table of that name from a profile has no sizes.
        assert_eq!(known("hcom_allReduce_", &[(INPUT_SHAPES, "4")]).case.parts().count(), 5);
    }

    #[test]
    fn attention_of_other_lengths_is_another_case() {
        let of = |length: &'static str| {
            known("FusedInferAttentionScore", &[(INPUT_SHAPES, "4,8"), ("Runtime avg_seq_len", length)])
        };
        assert_ne!(of("128").identity, of("4096").identity);
        assert_eq!(of("128").case.to_string(), "4,8 -> N/A  [avg_seq_len=128]");
        assert_eq!(of("").case.runtime(), "");
    }

    #[test]
    fn a_product_with_a_bias_has_another_signature() {
        let of = |inputs: &'static str| {
            known("MatMulV2", &[(INPUT_SHAPES, inputs), (OUTPUT_SHAPES, "16,2048"), (INPUT_TYPES, "DT_BF16;DT_BF16")])
        };
        assert_ne!(of("16,512;2048,512").signature, of("16,512;2048,512;2048").signature);
        assert_eq!(of("16,512;2048,512").signature, of("16,512;512,2048").signature);
        assert_ne!(of("16,512;2048,512").identity, of("16,512;512,2048").identity);
    }
}
