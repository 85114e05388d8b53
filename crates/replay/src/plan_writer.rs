//! A plan as JSON, row by row.

use crate::plan::PlannedRow;

/// Form of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanFormat {
    /// One object per line.
    Lines,
    /// One array, an object per line.
    Array,
}

/// Bytes that are held before they are handed on.
const HELD_BYTES: usize = 1 << 18;

/// Writes a plan row by row and hands the text on, some hundred kilobytes at a time.
///
/// ```
/// use perfdb_replay::plan_writer::{PlanFormat, PlanWriter};
///
/// let mut text = Vec::new();
/// let writer = PlanWriter::new(PlanFormat::Array, |bytes: &[u8]| {
///     text.extend_from_slice(bytes);
///     Ok::<(), std::convert::Infallible>(())
/// });
/// writer.finish()?;
/// assert_eq!(text, b"[\n\n]\n");
/// # Ok::<(), std::convert::Infallible>(())
/// ```
pub struct PlanWriter<P> {
    format: PlanFormat,
    has_rows: bool,
    text: Vec<u8>,
    print: P,
}

impl<E, P: FnMut(&[u8]) -> Result<(), E>> PlanWriter<P> {
    /// A writer that hands its text to `print`.
    pub fn new(format: PlanFormat, print: P) -> PlanWriter<P> {
        PlanWriter { format, has_rows: false, text: Vec::new(), print }
    }

    /// Writes a row.
    pub fn write(&mut self, row: &PlannedRow) -> Result<(), E> {
        if self.format == PlanFormat::Array {
            self.text.extend_from_slice(if self.has_rows { b",\n" } else { b"[\n" });
        }
        self.has_rows = true;
        row.write_json(&mut self.text);
        if self.format == PlanFormat::Lines {
            self.text.push(b'\n');
        }
        if self.text.len() >= HELD_BYTES {
            (self.print)(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// Ends the document and hands on what is left of it.
    pub fn finish(mut self) -> Result<(), E> {
        if self.format == PlanFormat::Array {
            self.text.extend_from_slice(if self.has_rows { b"\n]\n" } else { b"[\n\n]\n" });
        }
        (self.print)(&self.text)
    }
}
