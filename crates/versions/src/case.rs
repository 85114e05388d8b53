//! When rows of two databases are the same case.

use perfdb_pycompat::text::trim;
use perfdb_store::columns::{
    COMMUNICATION, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_SHAPES, OUTPUT_TYPES,
};
use perfdb_store::signature::{Cells, Rules, Variant};
use std::borrow::Cow;
use std::fmt;

/// The columns that a case is made of: those of a signature, the runtime values that attention rows of one signature differ in, and those of
/// a communication table.
pub(crate) const COLUMNS: [&str; 18] = [
    INPUT_SHAPES,
    INPUT_TYPES,
    INPUT_FORMATS,
    OUTPUT_SHAPES,
    OUTPUT_TYPES,
    EP_SIZE,
    "Runtime actual_seq_lengths_values",
    "Runtime actual_seq_lengths_kv_values",
    "Runtime avg_seq_len",
    "Runtime num_heads",
    "Runtime num_key_value_heads",
    "Runtime sparse_mode",
    "Runtime input_layout",
    "Runtime block_size",
    COMMUNICATION[0],
    COMMUNICATION[1],
    COMMUNICATION[2],
    COMMUNICATION[3],
];
const RUNTIME: std::ops::Range<usize> = 6..14;
const MESSAGE: std::ops::Range<usize> = 14..18;

/// Between the parts of a case; no cell that means something has it.
const SEPARATOR: char = '\u{1f}';

/// What a row is a measurement of. Rows of two databases with equal cases are compared and merged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Case {
    /// The parts of the signature, or the sizes of a collective.
    pub(crate) signature: Box<str>,
    /// Runtime values as `name=value`; empty for most rows.
    pub(crate) runtime: Box<str>,
}

impl Case {
    /// Input shapes, types and formats, output shapes and types, and the expert-parallel size where it counts; of a collective message size,
    /// devices, type and tier.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.signature.split(SEPARATOR)
    }

    /// Runtime values that tell rows of one signature apart; empty for most rows.
    pub fn runtime(&self) -> &str {
        &self.runtime
    }

    /// The first number of the case: rows of a matrix product, tokens of most other kernels, bytes of a collective.
    pub(crate) fn size(&self) -> Option<i64> {
        let end = self.signature.find(|character: char| !character.is_ascii_digit()).unwrap_or(self.signature.len());
        self.signature[..end].parse().ok()
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
                if let Some(size) = size.first().filter(|size| !size.is_empty()) {
                    write!(formatter, ", EP {size}")?;
                }
            }
            _ => formatter.write_str(&self.signature)?,
        }
        if self.runtime.is_empty() { Ok(()) } else { write!(formatter, " [{}]", self.runtime) }
    }
}

/// How the rows of one table become cases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Naming {
    rules: Rules,
    is_collective: bool,
}

impl Naming {
    /// The naming of a kernel type's table with these columns.
    pub(crate) fn new(kernel_type: &str, columns: &[String]) -> Naming {
        let is_collective = kernel_type.starts_with("hcom_")
            && COMMUNICATION[..4].iter().all(|name| columns.iter().any(|one| one == name));
        Naming { rules: Rules::new(kernel_type, Variant::Database), is_collective }
    }

    /// The case of a row, where `cell` gives the text of one of [`COLUMNS`].
    pub(crate) fn case<'t>(&self, cell: impl Fn(usize) -> Cow<'t, str>) -> Case {
        if self.is_collective {
            let sizes: Vec<Cow<'_, str>> = MESSAGE.map(&cell).collect();
            return Case { signature: joined(sizes.iter().map(|size| trim(size))), runtime: Box::default() };
        }
        let texts: [Cow<'_, str>; 6] = std::array::from_fn(&cell);
        let [input_shapes, input_types, input_formats, output_shapes, output_types, ep_size] = texts.each_ref();
        let signature = self.rules.signature(&Cells {
            input_shapes,
            input_types,
            input_formats,
            output_shapes,
            output_types,
            ep_size,
        });
        let mut runtime = String::new();
        for column in RUNTIME {
            let text = cell(column);
            let text = trim(text.trim_matches('"'));
            if !text.is_empty() {
                let name = COLUMNS[column].trim_start_matches("Runtime ");
                let comma = if runtime.is_empty() { "" } else { ", " };
                runtime.push_str(&format!("{comma}{name}={text}"));
            }
        }
        Case { signature: joined(signature.parts()), runtime: runtime.into() }
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

    fn case(kernel_type: &str, cells: &[(&str, &'static str)]) -> Case {
        let columns: Vec<String> = cells.iter().map(|(name, _)| (*name).to_owned()).collect();
        let find = |name: &str| cells.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
        Naming::new(kernel_type, &columns).case(|column| Cow::Borrowed(find(COLUMNS[column])))
    }

    #[test]
    fn cases_are_told_as_people_say_them() {
        let product = case(
            "MatMulV2",
            &[(INPUT_SHAPES, "\"16,512;2048,512\""), (INPUT_TYPES, "DT_BF16;DT_BF16"), (OUTPUT_SHAPES, "16,2048")],
        );
        assert_eq!(product.to_string(), "16,512;2048,512 -> 16,2048 DT_BF16;DT_BF16");
        assert_eq!(product.size(), Some(16));
        let sizes = [("message_bytes", "4096"), ("num_devices", "8"), ("dtype", "DT_BF16"), ("topology_tier", "2")];
        assert_eq!(case("hcom_allReduce_", &sizes).to_string(), "4096 bytes, 8 devices, DT_BF16, tier 2");
        // A table of that name from a profile has no sizes.
        assert_eq!(case("hcom_allReduce_", &[(INPUT_SHAPES, "4")]).parts().count(), 5);
    }

    #[test]
    fn attention_of_other_lengths_is_another_case() {
        let of = |length: &'static str| {
            case("FusedInferAttentionScore", &[(INPUT_SHAPES, "4,8"), ("Runtime avg_seq_len", length)])
        };
        assert_ne!(of("128"), of("4096"));
        assert_eq!(of("128").to_string(), "4,8 -> N/A  [avg_seq_len=128]");
        assert_eq!(of("").runtime(), "");
    }
}
