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

mod columns;
mod matmul;
mod rules;
mod usual;

#[cfg(test)]
mod tests;

pub use self::columns::SignatureColumns;
pub use self::rules::{Rules, Variant};

use std::borrow::Cow;

/// What identifies a case: a tuple of five texts, six for fused experts.
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
    /// `EP Size`; only fused experts look at it.
    pub ep_size: &'a str,
}

impl Cells<'_> {
    /// The case for people: `<Input Shapes> -> <Output Shapes>`, the raw cells, `N/A` for an empty one.
    pub fn text_form(&self) -> String {
        let shown = |cell| if <str>::is_empty(cell) { "N/A" } else { cell };
        format!("{} -> {}", shown(self.input_shapes), shown(self.output_shapes))
    }
}
