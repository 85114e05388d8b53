//! What the first row of a table fixes for every new one: how many slots there are, which are absent, how large elements are.

use std::path::Path;

use perfdb_pycompat::text::trim;
use perfdb_store::columns::{INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES};

use super::head::Head;
use crate::Semantics;
use crate::candidate::Candidate;
use crate::error::Error;
use crate::memory::{Budget, element_bytes};
use crate::slots::Slots;

/// The slots of the first row, and the cells of a rule that count instead.
#[derive(Clone, Debug)]
pub(crate) struct TemplateRow {
    inputs: Side,
    outputs: Side,
    budget: Option<Budget>,
    semantics: Semantics,
}

/// The inputs or the outputs.
#[derive(Clone, Debug)]
struct Side {
    slots: usize,
    types: Attribute,
    formats: Attribute,
    /// Bytes per element by slot, by the first row's types.
    element_bytes: Vec<i128>,
}

/// The cell with the types or formats of a side.
#[derive(Clone, Debug)]
struct Attribute {
    /// Where candidates set the cell themselves: the position among the cells of the rule.
    set_at: Option<usize>,
    /// The slots that the first row's cell declares absent.
    absent: Vec<bool>,
}

impl TemplateRow {
    /// Reads the first row of a table; `set_columns` are those that the rule sets.
    pub(crate) fn new(
        path: &Path,
        head: &Head,
        set_columns: &[&str],
        budget: Option<Budget>,
        semantics: Semantics,
    ) -> Result<Self, Error> {
        let side = |shapes: &'static str, types: &str, formats: &str| {
            let slots = slot_count(head.cell(shapes)).map_err(|piece| Error::NotAShape {
                path: path.to_owned(),
                column: shapes,
                piece: piece.to_owned(),
            })?;
            let attribute = |column: &str| Attribute {
                set_at: set_columns.iter().position(|set| *set == column),
                absent: absent_slots(head.cell(column)),
            };
            let element_bytes = element_bytes_of(head.cell(types), semantics);
            Ok::<_, Error>(Side { slots, types: attribute(types), formats: attribute(formats), element_bytes })
        };
        Ok(Self {
            inputs: side(INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS)?,
            outputs: side(OUTPUT_SHAPES, OUTPUT_TYPES, OUTPUT_FORMATS)?,
            budget,
            semantics,
        })
    }

    /// Gives a candidate the slots of the table: missing ones are added, absent ones emptied.
    pub(crate) fn align(&self, candidate: &mut Candidate) {
        self.inputs.align(&mut candidate.inputs, &candidate.cells, self.semantics);
        self.outputs.align(&mut candidate.outputs, &candidate.cells, self.semantics);
    }

    /// Whether an aligned candidate takes more memory than a row may.
    pub(crate) fn is_over_budget(&self, candidate: &Candidate) -> bool {
        let Some(budget) = self.budget else {
            return false;
        };
        let own_types = |side: &Side| {
            let own = side.types.set_at.filter(|_| self.semantics.is_corrected())?;
            Some(element_bytes_of(&candidate.cells[own], self.semantics))
        };
        let (own_inputs, own_outputs) = (own_types(&self.inputs), own_types(&self.outputs));
        budget.is_exceeded(
            (&candidate.inputs, own_inputs.as_deref().unwrap_or(&self.inputs.element_bytes)),
            (&candidate.outputs, own_outputs.as_deref().unwrap_or(&self.outputs.element_bytes)),
        )
    }
}

impl Attribute {
    /// For how many slots there is an entry in the cell in force.
    fn entries(&self, cells: &[String]) -> usize {
        self.set_at.map_or(self.absent.len(), |own| absent_slots(&cells[own]).len())
    }
}

impl Side {
    fn align(&self, slots: &mut Slots, cells: &[String], semantics: Semantics) {
        slots.lengthen(self.slots);
        if semantics.is_corrected() {
            slots.fit(self.types.entries(cells));
        }
        for attribute in [&self.types, &self.formats] {
            match attribute.set_at {
                None if !attribute.absent.contains(&true) => {}
                None => slots.empty_where(|position| attribute.absent.get(position) == Some(&true)),
                Some(own) => {
                    let absent = absent_slots(&cells[own]);
                    slots.empty_where(|position| absent.get(position) == Some(&true));
                }
            }
        }
    }
}

/// A cell without whitespace, and then without quotes, at its ends.
fn unquoted(cell: &str) -> &str {
    trim(cell).trim_matches('"')
}

/// For each slot of a types or formats cell whether it declares the slot absent.
fn absent_slots(cell: &str) -> Vec<bool> {
    let cell = unquoted(cell);
    if cell.is_empty() {
        return Vec::new();
    }
    let is_absent = |entry: &str| {
        let entry = trim(entry);
        let words = ["NULL", "NONE", "UNDEFINED", "DT_UNDEFINED"];
        entry.is_empty() || words.iter().any(|word| entry.eq_ignore_ascii_case(word))
    };
    cell.split(';').map(is_absent).collect()
}

fn element_bytes_of(types: &str, semantics: Semantics) -> Vec<i128> {
    let types = unquoted(types);
    if semantics.is_corrected() {
        return types.split(';').map(|name| element_bytes(trim(name))).collect();
    }
    // Entries that are empty do not count, so that later ones move forward.
    let is_separator = |character: char| character == ';' || perfdb_pycompat::text::is_space(character);
    types.split(is_separator).filter(|name| !name.is_empty()).map(element_bytes).collect()
}

fn is_absent_word(text: &str) -> bool {
    ["N/A", "NA", "NULL", "NONE", "UNDEFINED"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// How many slots a shapes cell has; what is not a shape is returned as the error.
fn slot_count(cell: &str) -> Result<usize, &str> {
    let is_nothing = |text: &str| text.is_empty() || is_absent_word(text);
    let cell = trim(cell);
    if is_nothing(cell) {
        return Ok(0);
    }
    let cell = trim(cell.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(cell));
    if is_nothing(cell) {
        return Ok(0);
    }
    let mut pieces = split_outside_parentheses(cell);
    if pieces.last().is_some_and(|last| last.is_empty()) {
        pieces.pop();
    }
    match pieces.iter().find(|piece| !is_slot(piece)) {
        Some(piece) => Err(trim(piece)),
        None => Ok(pieces.len()),
    }
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => {
                pieces.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces
}

fn is_slot(piece: &str) -> bool {
    let piece = trim(unquoted(piece));
    if piece.is_empty() || is_absent_word(piece) {
        return true;
    }
    let dimensions = piece.trim_matches(['(', ')']);
    let mut dimensions = dimensions.split(|character| character == ',' || perfdb_pycompat::text::is_space(character));
    dimensions.all(|dimension| dimension.is_empty() || perfdb_pycompat::integer::parse(dimension).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_a_shapes_cell() {
        let counted = [
            ("", 0),
            ("  n/a ", 0),
            ("\"NULL\"", 0),
            ("\"\"", 0),
            ("1;2;", 2),
            ("1;2;;", 3),
            (";", 1),
            ("\"1,5120;(16, 32);()\"", 3),
            ("(1;2);3", 2),
            ("\"1\";\"2 3\";none", 3),
        ];
        for (cell, slots) in counted {
            // A semicolon inside parentheses separates no slots, and makes no shape either.
            let expected = if cell == "(1;2);3" { Err("(1;2)") } else { Ok(slots) };
            assert_eq!(slot_count(cell), expected, "{cell}");
        }
        assert_eq!(slot_count("1,2;x,3;4"), Err("x,3"));
        assert_eq!(slot_count("1.5"), Err("1.5"));
    }

    #[test]
    fn absent_entries() {
        assert_eq!(absent_slots("\"DT_BF16; null;;Dt_Undefined\""), [false, true, true, true]);
        assert!(absent_slots(" \"\" ").is_empty());
    }

    #[test]
    fn element_sizes_move_forward_over_empty_entries_unless_corrected() {
        assert_eq!(element_bytes_of("FLOAT;;INT64 INT8", Semantics::Upstream), [4, 8, 1]);
        assert_eq!(element_bytes_of("FLOAT;; INT64", Semantics::Corrected), [4, 2, 8]);
    }
}
