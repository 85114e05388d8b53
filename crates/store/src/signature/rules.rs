//! How the rows of an operator become signatures.

use super::matmul::{fitting, matmul_dimensions};
use super::usual::usual;
use super::{Builder, Cells, Signature};
use crate::kernel::operator_name;
use crate::registry::{Case, kernel};
use crate::slots::{dimensions, normal_shape, split, unquoted};
use perfdb_pycompat::text::trim;
use std::borrow::Cow;

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
    case: Case,
    variant: Variant,
}

impl Rules {
    /// The rules of an operator; the name may have quotes and the endings that people give it.
    pub fn new(operator: &str, variant: Variant) -> Self {
        let case = kernel(operator_name(unquoted(operator))).map_or(Case::AllInputs, |kernel| kernel.case);
        Rules { case, variant }
    }

    /// The rules for a row that names its operator itself, in `OP Type`, else in `OP State`.
    pub fn of_row(op_type: &str, op_state: &str, variant: Variant) -> Self {
        let operator = if unquoted(op_type).is_empty() { op_state } else { op_type };
        Rules::new(operator, variant)
    }

    /// Whether the shape parts are all shapes of the row as they stand, where [`Rules::product`] does not apply.
    pub fn takes_all_shapes(&self) -> bool {
        matches!(self.case, Case::AllInputs | Case::Product | Case::ExpertParallel)
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
        (self.case == Case::Product).then(|| fitting(a, b, output)).flatten()
    }

    /// The signature of a row.
    pub fn signature(&self, cells: &Cells<'_>) -> Signature {
        let usual = if self.case == Case::AllInputs { usual(cells) } else { None };
        usual.unwrap_or_else(|| self.general(cells))
    }

    /// The signature with every slot as it is given, where this operator's own takes different cells for one case: a product with a bias and
    /// one without, a weight given either way, other offsets of a slice.
    pub(crate) fn exact(&self, cells: &Cells<'_>) -> Option<Signature> {
        let all_slots = || Rules { case: Case::AllInputs, ..*self };
        matches!(self.case, Case::Product | Case::Index | Case::FirstInput).then(|| all_slots().signature(cells))
    }

    pub(super) fn general(&self, cells: &Cells<'_>) -> Signature {
        let capacity = cells.input_shapes.len() + cells.input_types.len() + cells.input_formats.len() + 40;
        let mut out = Builder { text: String::with_capacity(capacity), ..Builder::default() };
        let inputs = split(cells.input_shapes);
        let types = split(cells.input_types);
        let formats = split(cells.input_formats);
        let outputs: Vec<Cow<'_, str>> = split(cells.output_shapes).into_iter().map(normal_shape).collect();
        let output_types = split(cells.output_types);
        if self.case == Case::Product
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
        if self.case == Case::ExpertParallel {
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
        match self.case {
            Case::Index => {
                let leading =
                    outputs.first().and_then(|output| dimensions(output)).and_then(|shape| shape.first().copied());
                if let (Some(leading), Some(&first)) = (leading, inputs.first()) {
                    let shapes = vec![Cow::Borrowed(first), Cow::Owned(leading.to_string())];
                    return (again(shapes), again(first_and_last(&types)), again(first_and_last(&formats)));
                }
            }
            Case::FirstInput => {
                let first = |slots: Vec<&'a str>| borrowed(slots.into_iter().take(1));
                let format = formats.first().map(|_| "ND");
                return (again(first(inputs)), again(first(types)), again(borrowed(format)));
            }
            Case::AllInputs | Case::Product | Case::ExpertParallel => {}
        }
        (again(borrowed(inputs)), again(borrowed(types)), again(borrowed(formats)))
    }
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

/// Joins slots with `;` and splits them once more, which trims whitespace that stood inside quotes.
fn again(slots: Slots<'_>) -> Slots<'_> {
    let is_clean = |slot: &str| slot.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    if slots.iter().all(|slot| is_clean(slot)) && slots.iter().any(|slot| !slot.is_empty()) {
        return slots;
    }
    let joined = slots.join(";");
    split(&joined).into_iter().map(|slot| Cow::Owned(slot.to_owned())).collect()
}
