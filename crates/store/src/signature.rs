//! Signatures: when two rows are the same case.
//!
//! ```
//! use perfdb_store::signature::{Cells, Rules, Variant};
//!
//! let weight_as_given = Cells {
//!     input_shapes: "\"24,512;512,4096\"",
//!     input_types: "DT_BF16;DT_BF16",
//!     input_formats: "ND;ND",
//!     output_shapes: "\"24,4096\"",
//!     output_types: "DT_BF16",
//!     ep_size: "",
//! };
//! let transposed = Cells { input_shapes: "24,512;4096,512", ..weight_as_given };
//! let rules = Rules::new("MatMulV2", Variant::Database);
//! assert_eq!(rules.signature(&weight_as_given), rules.signature(&transposed));
//! assert_eq!(rules.signature(&transposed).parts().next(), Some("24,512;4096,512"));
//! ```

use crate::columns;
use crate::kernel::{DISPATCH_FFN_COMBINE, operator_name};
use crate::slots::{dimensions, normal_shape, split, unquoted};
use crate::table::{Row, Table};
use perfdb_pycompat::text::trim;
use std::borrow::Cow;

/// What identifies a case: a tuple of five texts, six for `DispatchFFNCombine`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signature {
    text: Box<str>,
    /// Where each part ends in `text`.
    ends: [u32; 6],
    count: u8,
}

impl Signature {
    /// Input shapes, input types, input formats, output shapes, output types and, where it counts, the expert-parallel size.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..usize::from(self.count)).map(|part| {
            let start = if part == 0 { 0 } else { self.ends[part - 1] as usize };
            &self.text[start..self.ends[part] as usize]
        })
    }
}

#[derive(Default)]
struct Builder {
    text: String,
    ends: [u32; 6],
    count: u8,
}

impl Builder {
    fn end_part(&mut self) {
        self.ends[usize::from(self.count)] = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.count += 1;
    }

    /// Adds the slots joined by `;`, empty ones at the end left out.
    fn part<S: AsRef<str>>(&mut self, slots: &[S]) {
        let length = slots.iter().rposition(|slot| !slot.as_ref().is_empty()).map_or(0, |last| last + 1);
        self.all_of(&slots[..length]);
    }

    fn all_of<S: AsRef<str>>(&mut self, slots: &[S]) {
        for (at, slot) in slots.iter().enumerate() {
            if at > 0 {
                self.text.push(';');
            }
            self.text.push_str(slot.as_ref());
        }
        self.end_part();
    }

    /// Adds the attributes of the shapes that are there.
    fn paired<S: AsRef<str>>(&mut self, shapes: &[Cow<'_, str>], attributes: &[S]) {
        let is_there = |at: usize| shapes.get(at).is_some_and(|shape| !shape.is_empty());
        let kept = |at: usize| if is_there(at) { attributes[at].as_ref() } else { "" };
        let length = (0..attributes.len()).rposition(|at| !kept(at).is_empty()).map_or(0, |last| last + 1);
        for at in 0..length {
            if at > 0 {
                self.text.push(';');
            }
            self.text.push_str(kept(at));
        }
        self.end_part();
    }

    fn finish(self) -> Signature {
        Signature { text: self.text.into_boxed_str(), ends: self.ends, count: self.count }
    }
}

/// The cells of a row that its signature is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Cells<'a> {
    /// `Input Shapes`.
    pub input_shapes: &'a str,
    /// `Input Data Types`.
    pub input_types: &'a str,
    /// `Input Formats`.
    pub input_formats: &'a str,
    /// `Output Shapes`.
    pub output_shapes: &'a str,
    /// `Output Data Types`.
    pub output_types: &'a str,
    /// `EP Size`; only `DispatchFFNCombine` looks at it.
    pub ep_size: &'a str,
}

impl Cells<'_> {
    /// The case for people: `<Input Shapes> -> <Output Shapes>`, the raw cells, `N/A` for an empty one.
    pub fn text_form(&self) -> String {
        let shown = |cell| if <str>::is_empty(cell) { "N/A" } else { cell };
        format!("{} -> {}", shown(self.input_shapes), shown(self.output_shapes))
    }
}

/// Where a table keeps the cells of a signature.
#[derive(Debug, Clone, Copy)]
pub struct SignatureColumns([Option<usize>; 6]);

impl SignatureColumns {
    /// Looks the columns up; one that is missing counts as empty.
    pub fn of(table: &Table) -> Self {
        use columns::{EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_SHAPES, OUTPUT_TYPES};
        let names = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, EP_SIZE];
        SignatureColumns(names.map(|name| table.column(name)))
    }

    /// The cells of a row.
    pub fn cells<'t>(&self, row: Row<'t>) -> Cells<'t> {
        let cell = |at: usize| self.0[at].map_or("", |column| row.cell(column));
        Cells {
            input_shapes: cell(0),
            input_types: cell(1),
            input_formats: cell(2),
            output_shapes: cell(3),
            output_types: cell(4),
            ep_size: cell(5),
        }
    }
}

/// Whose notion of "the same case" counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The database's, for everything but the shape grid.
    Database,
    /// The shape grid's: in the matmul family output types do not count.
    ShapeGrid,
}

/// How the rows of one operator become signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    family: Family,
    variant: Variant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Default,
    Matmul,
    Index,
    FirstSlotOnly,
    DispatchFfn,
}

impl Rules {
    /// The rules of an operator; the name may have quotes and the endings that people give it.
    pub fn new(operator: &str, variant: Variant) -> Self {
        let family = match operator_name(unquoted(operator)) {
            "MatMulV2" | "MatMulV3" | "MatMulCommon" => Family::Matmul,
            "Index" => Family::Index,
            "Slice" | "SliceAiCore" | "Transpose" | "TransposeAiCore" => Family::FirstSlotOnly,
            DISPATCH_FFN_COMBINE => Family::DispatchFfn,
            _ => Family::Default,
        };
        Rules { family, variant }
    }

    /// The rules for a row that names its operator itself, in `OP Type`, else in `OP State`.
    pub fn of_row(op_type: &str, op_state: &str, variant: Variant) -> Self {
        let operator = if unquoted(op_type).is_empty() { op_state } else { op_type };
        Rules::new(operator, variant)
    }

    /// Whether the shape parts are all shapes of the row as they stand, where [`Rules::product`] does not apply.
    pub fn takes_all_shapes(&self) -> bool {
        matches!(self.family, Family::Default | Family::Matmul | Family::DispatchFfn)
    }

    /// Rows, inner dimension and columns of a matrix product, if the operator belongs to the matmul family and the first two inputs and the
    /// first output fit together. The shape parts are then `rows,inner;columns,inner` and `rows,columns`.
    ///
    /// ```
    /// use perfdb_store::signature::{Rules, Variant};
    /// let rules = Rules::new("MatMulV2", Variant::ShapeGrid);
    /// assert_eq!(rules.product([24, 512], [512, 4096], [24, 4096]), Some([24, 512, 4096]));
    /// ```
    pub fn product(&self, a: [i64; 2], b: [i64; 2], output: [i64; 2]) -> Option<[i64; 3]> {
        (self.family == Family::Matmul).then(|| fitting(a, b, output)).flatten()
    }

    /// The signature of a row.
    pub fn signature(&self, cells: &Cells<'_>) -> Signature {
        let plain = if self.family == Family::Default { plain(cells) } else { None };
        plain.unwrap_or_else(|| self.general(cells))
    }

    fn general(&self, cells: &Cells<'_>) -> Signature {
        let capacity = cells.input_shapes.len() + cells.input_types.len() + cells.input_formats.len() + 40;
        let mut out = Builder { text: String::with_capacity(capacity), ..Builder::default() };
        let inputs = split(cells.input_shapes);
        let types = split(cells.input_types);
        let formats = split(cells.input_formats);
        let outputs: Vec<Cow<'_, str>> = split(cells.output_shapes).into_iter().map(normal_shape).collect();
        let output_types = split(cells.output_types);
        if self.family == Family::Matmul
            && let Some([rows, inner, columns]) = matmul_dimensions(&inputs, &outputs)
        {
            out.text = format!("{rows},{inner};{columns},{inner}");
            out.end_part();
            out.all_of(&types[..types.len().min(2)]);
            out.all_of(&formats[..formats.len().min(2)]);
            out.text.push_str(&format!("{rows},{columns}"));
            out.end_part();
            // Without the fifth part the signature equals none of another kind.
            if self.variant == Variant::Database {
                out.paired(&outputs, &output_types);
            }
            return out.finish();
        }
        let (slots, types, formats) = self.reduced(inputs, types, formats, &outputs);
        let inputs: Vec<Cow<'_, str>> = slots.iter().map(|slot| normal_shape(slot)).collect();
        out.part(&inputs);
        out.paired(&inputs, &types);
        out.paired(&inputs, &formats);
        out.part(&outputs);
        out.paired(&outputs, &output_types);
        if self.family == Family::DispatchFfn {
            out.text.push_str(trim(cells.ep_size));
            out.end_part();
        }
        out.finish()
    }

    /// The input slots that count.
    fn reduced<'a>(
        &self,
        inputs: Vec<&'a str>,
        types: Vec<&'a str>,
        formats: Vec<&'a str>,
        outputs: &[Cow<'_, str>],
    ) -> (Slots<'a>, Slots<'a>, Slots<'a>) {
        match self.family {
            Family::Index => {
                let leading =
                    outputs.first().and_then(|output| dimensions(output)).and_then(|shape| shape.first().copied());
                if let (Some(leading), Some(&first)) = (leading, inputs.first()) {
                    let shapes = vec![Cow::Borrowed(first), Cow::Owned(leading.to_string())];
                    return (again(shapes), again(first_and_last(&types)), again(first_and_last(&formats)));
                }
            }
            Family::FirstSlotOnly => {
                let first = |slots: Vec<&'a str>| borrowed(slots.into_iter().take(1));
                let format = formats.first().map(|_| "ND");
                return (again(first(inputs)), again(first(types)), again(borrowed(format)));
            }
            Family::Default | Family::Matmul | Family::DispatchFfn => {}
        }
        (again(borrowed(inputs)), again(borrowed(types)), again(borrowed(formats)))
    }
}

/// The signature of the usual row, whose cells are its parts already: shapes in normal form, none of them empty, and no more attributes than
/// shapes. `None` for any other.
fn plain(cells: &Cells<'_>) -> Option<Signature> {
    let inputs = unquoted(cells.input_shapes);
    let outputs = unquoted(cells.output_shapes);
    let (input_count, output_count) = (normal_slots(inputs)?, normal_slots(outputs)?);
    let attributes = |cell, count: usize| {
        let text = unquoted(cell);
        (clean_slots(text)? <= count).then(|| text.trim_end_matches(';'))
    };
    let parts = [
        inputs,
        attributes(cells.input_types, input_count)?,
        attributes(cells.input_formats, input_count)?,
        outputs,
        attributes(cells.output_types, output_count)?,
    ];
    let mut out =
        Builder { text: String::with_capacity(parts.iter().map(|part| part.len()).sum()), ..Builder::default() };
    for part in parts {
        out.text.push_str(part);
        out.end_part();
    }
    Some(out.finish())
}

/// Number of slots of a text that has only digits, commas between them and semicolons between slots, none of which is empty.
fn normal_slots(text: &str) -> Option<usize> {
    let (mut slots, mut after_digit) = (1, false);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => after_digit = true,
            b',' | b';' if after_digit => {
                after_digit = false;
                slots += usize::from(byte == b';');
            }
            _ => return None,
        }
    }
    after_digit.then_some(slots)
}

/// Number of slots of a text without blanks and quotes.
fn clean_slots(text: &str) -> Option<usize> {
    let mut slots = usize::from(!text.is_empty());
    for byte in text.bytes() {
        if !byte.is_ascii_graphic() || byte == b'"' {
            return None;
        }
        slots += usize::from(byte == b';');
    }
    Some(slots)
}

type Slots<'a> = Vec<Cow<'a, str>>;

fn borrowed<'a>(slots: impl IntoIterator<Item = &'a str>) -> Slots<'a> {
    slots.into_iter().map(Cow::Borrowed).collect()
}

fn first_and_last<'a>(slots: &[&'a str]) -> Slots<'a> {
    match slots {
        [] => Vec::new(),
        [first, .., last] | [first @ last] => borrowed([*first, *last]),
    }
}

/// Joins slots with `;` and splits them once more, which trims blanks that stood inside quotes.
fn again(slots: Slots<'_>) -> Slots<'_> {
    let is_clean = |slot: &str| slot.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    if slots.iter().all(|slot| is_clean(slot)) && slots.iter().any(|slot| !slot.is_empty()) {
        return slots;
    }
    let joined = slots.join(";");
    split(&joined).into_iter().map(|slot| Cow::Owned(slot.to_owned())).collect()
}

/// M, K and N if the first two inputs and the first output are 2-D and fit together.
fn matmul_dimensions(inputs: &[&str], outputs: &[Cow<'_, str>]) -> Option<[i64; 3]> {
    let pair = |slot: &str| <[i64; 2]>::try_from(dimensions(slot)?).ok();
    let a = pair(&normal_shape(inputs.first()?))?;
    let b = pair(&normal_shape(inputs.get(1)?))?;
    fitting(a, b, pair(outputs.first()?)?)
}

fn fitting(a: [i64; 2], b: [i64; 2], [rows, columns]: [i64; 2]) -> Option<[i64; 3]> {
    if a[0] == rows && (b == [columns, a[1]] || b == [a[1], columns]) {
        return Some([rows, a[1], columns]);
    }
    let common = [a[0], a[1]].into_iter().filter(|dimension| b.contains(dimension));
    // A square matrix has its number once.
    let common = common.take(if a[0] == a[1] { 1 } else { 2 });
    let inner = common.clone().filter(|&dimension| dimension != rows && dimension != columns);
    let inner = the_only(inner).or_else(|| the_only(common))?;
    Some([rows, inner, columns])
}

fn the_only(mut numbers: impl Iterator<Item = i64>) -> Option<i64> {
    let first = numbers.next()?;
    numbers.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The vectors of the original reader.
    const VECTORS: &str = include_str!("../../../testdata/golden/lookup/signatures.json");

    #[test]
    fn signatures_are_those_of_the_vectors() -> Result<(), Box<dyn std::error::Error>> {
        let vectors: serde_json::Value = serde_json::from_str(VECTORS)?;
        let cases = vectors["cases"].as_array().ok_or("no cases")?;
        assert!(cases.len() > 30);
        for case in cases {
            let cell = |name: &str| case["row"][name].as_str().unwrap_or_default();
            let cells = Cells {
                input_shapes: cell("Input Shapes"),
                input_types: cell("Input Data Types"),
                input_formats: cell("Input Formats"),
                output_shapes: cell("Output Shapes"),
                output_types: cell("Output Data Types"),
                ep_size: cell("EP Size"),
            };
            let rules = match case["op"].as_str() {
                Some(operator) => Rules::new(operator, Variant::Database),
                None => Rules::of_row(cell("OP Type"), cell("OP State"), Variant::Database),
            };
            let signature = rules.signature(&cells);
            let expected: Vec<&str> =
                case["signature"].as_array().ok_or("no signature")?.iter().filter_map(|part| part.as_str()).collect();
            assert_eq!(signature.parts().collect::<Vec<_>>(), expected, "{case}");
            assert_eq!(Some(cells.text_form().as_str()), case["text"].as_str());
        }
        Ok(())
    }

    #[test]
    fn output_types_of_matmuls_do_not_count_in_the_grid() {
        let row = Cells { input_shapes: "2,3;3,4", output_shapes: "2,4", output_types: "A", ..Cells::default() };
        let other = Cells { output_types: "B", ..row };
        let (grid, database) = (Rules::new("MatMulV2", Variant::ShapeGrid), Rules::new("MatMulV2", Variant::Database));
        assert_eq!(grid.signature(&row), grid.signature(&other));
        assert_ne!(database.signature(&row), database.signature(&other));
    }

    #[test]
    fn blanks_inside_quotes_of_a_slot_are_trimmed() {
        let row = Cells { input_shapes: "4;5", input_types: "A;\" B \"", input_formats: "X;Y", ..Cells::default() };
        let signature = Rules::new("Add", Variant::Database).signature(&row);
        assert_eq!(signature.parts().collect::<Vec<_>>(), ["4;5", "A;B", "X;Y", "", ""]);
    }

    proptest! {
        #[test]
        fn the_short_way_agrees_with_the_general_one(
            input_shapes in "\"?[1-3]{1,2}(,[1-3]){0,2}(;[1-3]{0,2}(,[1-3])?){0,2}\"?",
            input_types in "\"?[A-B/]{0,2}(;[A-B ]{0,2}){0,3}\"?",
            input_formats in "[A-B]{0,2}(;[A-B]{0,2}){0,2}",
            output_shapes in "\"?[1-3]{0,2}(,[1-3]){0,2}(;[1-3]{0,2}){0,2}\"?",
            output_types in "[A-B]{0,2}(;[A-B]{0,2}){0,2}",
        ) {
            let [input_shapes, input_types, input_formats, output_shapes, output_types] =
                [&input_shapes, &input_types, &input_formats, &output_shapes, &output_types];
            let cells = Cells { input_shapes, input_types, input_formats, output_shapes, output_types, ep_size: "" };
            let rules = Rules::new("Add", Variant::Database);
            prop_assert_eq!(rules.signature(&cells), rules.general(&cells));
        }

        #[test]
        fn any_cells_have_a_signature(cells in prop::array::uniform5("[0-9A;,\"() x]{0,12}"), operator in "MatMulV2|Index|Slice|Add") {
            let [input_shapes, input_types, input_formats, output_shapes, output_types] = &cells;
            let cells = Cells { input_shapes, input_types, input_formats, output_shapes, output_types, ep_size: "" };
            for variant in [Variant::Database, Variant::ShapeGrid] {
                let signature = Rules::new(&operator, variant).signature(&cells);
                prop_assert!(signature.parts().len() >= 4);
            }
        }
    }
}
