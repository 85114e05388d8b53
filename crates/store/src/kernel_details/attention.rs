//! Runtime columns of attention rows, from the operator rows of the same profile.

use crate::columns::RUNTIME;
use crate::error::Error;
use crate::kernel::FUSED_INFER_ATTENTION_SCORE;
use crate::profile::{ProfileFiles, Wanted};
use crate::slots::{integer, is_absent_word, split};
use perfdb_files::escape::excerpt;
use perfdb_pycompat::text::{is_space, trim};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const NAMES: [&str; 6] = ["Type", "Name", "Op Type", "Op Name", "Operator Type", "Operator Name"];
const SHAPES: [&str; 2] = ["Input Shapes", "Output Shapes"];

/// The input shapes of a profile's attention operators, in order. Equal texts are kept once.
#[derive(Debug, Default)]
pub(super) struct OperatorRows {
    texts: Vec<String>,
    rows: Vec<(u32, u64)>,
    path: PathBuf,
}

impl OperatorRows {
    /// Reads the `operator_details.csv` beside a kernel file; none there is none.
    pub(super) fn beside(kernel_file: &Path) -> Result<OperatorRows, Error> {
        let path = kernel_file.with_file_name("operator_details.csv");
        if !path.is_file() {
            return Ok(OperatorRows::default());
        }
        let optional: Vec<&str> = NAMES.into_iter().chain(SHAPES).collect();
        let paths = [path];
        let mut files = ProfileFiles::new(&paths, Wanted { required: &[], optional: &optional });
        let mut found = OperatorRows { path: paths[0].clone(), ..OperatorRows::default() };
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut lines = 0;
        let mut buffer = Vec::new();
        while let Some(piece) = files.next_piece(buffer)? {
            let end = piece.for_each_row(&paths[0], |row| {
                let is_attention = (0..NAMES.len()).any(|name| names_attention(&row.text(name)));
                let shapes = [NAMES.len(), NAMES.len() + 1].map(|column| trim(&row.text(column)).to_owned());
                if is_attention && shapes.iter().all(|shape| !shape.is_empty()) {
                    let [inputs, _] = shapes;
                    let next = u32::try_from(found.texts.len()).unwrap_or(u32::MAX);
                    let text = *known.entry(inputs).or_insert_with_key(|inputs| {
                        found.texts.push(inputs.clone());
                        next
                    });
                    found.rows.push((text, lines + row.line));
                }
                true
            })?;
            lines += end.lines;
            buffer = piece.text;
        }
        Ok(found)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The input shapes of the operator row that belongs to the attention row of this number, and where they stand.
    fn get(&self, number: usize) -> Option<(&str, &Path, u64)> {
        let (text, line) = self.rows.get(number)?;
        Some((&self.texts[*text as usize], &self.path, *line))
    }
}

fn names_attention(cell: &str) -> bool {
    let reduced: String =
        cell.to_lowercase().chars().filter(|character| matches!(character, 'a'..='z' | '0'..='9')).collect();
    reduced.contains("fusedinferattentionscore")
}

/// Whether a kernel type is the attention kernel.
pub(super) fn is_attention(kernel_type: &str) -> bool {
    kernel_type == FUSED_INFER_ATTENTION_SCORE
}

/// What the runtime columns of a group are made of.
#[derive(Debug, Clone)]
pub(super) struct RuntimeShapes {
    source_profile: String,
    actual_seq_lengths: String,
    actual_seq_lengths_kv: String,
    block_table: String,
}

/// An attention row of a kernel file.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttentionRow<'a> {
    pub(super) file: &'a Path,
    pub(super) line: u64,
    /// Its number among the attention rows of the file, from 0.
    pub(super) number: usize,
    pub(super) input_shapes: &'a str,
}

impl RuntimeShapes {
    /// The shapes of an attention row: those of its operator row, else its own.
    pub(super) fn of(row: AttentionRow<'_>, operators: &OperatorRows) -> Result<RuntimeShapes, Error> {
        let own = (row.input_shapes, row.file, row.line);
        let (cell, path, line) = operators.get(row.number).filter(|(shapes, ..)| !shapes.is_empty()).unwrap_or(own);
        let slots: Vec<String> =
            split(cell).into_iter().map(|slot| dimensions(slot, path, line)).collect::<Result<_, _>>()?;
        let slot = |at: usize| slots.get(at).cloned().unwrap_or_default();
        let folder = row.file.parent().map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
        let name = folder.as_deref().and_then(Path::file_name);
        Ok(RuntimeShapes {
            source_profile: name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            actual_seq_lengths: slot(5),
            actual_seq_lengths_kv: slot(6),
            block_table: slot(14),
        })
    }

    /// The cells of the runtime columns.
    pub(super) fn cells(&self) -> [&str; RUNTIME.len()] {
        RUNTIME.map(|column| match column {
            "Runtime source_profile" => self.source_profile.as_str(),
            "Runtime actual_seq_lengths_shape" => &self.actual_seq_lengths,
            "Runtime actual_seq_lengths_kv_shape" => &self.actual_seq_lengths_kv,
            "Runtime block_table_shape" => &self.block_table,
            "Runtime metadata_completeness" => "profile_shapes_only",
            _ => "",
        })
    }
}

/// A slot as integers joined by `,`; parts of whitespace alone are dropped.
fn dimensions(slot: &str, path: &Path, line: u64) -> Result<String, Error> {
    let text = trim(slot);
    if is_absent_word(text) {
        return Ok(String::new());
    }
    let mut joined = String::new();
    for part in text.split(',').map(|part| part.trim_matches(is_space)).filter(|part| !part.is_empty()) {
        let Some(value) = integer(part) else {
            return Err(Error::input(
                path,
                Some(line),
                format!("Input Shapes: slot {} is not a list of integers", excerpt(text)),
            ));
        };
        if !joined.is_empty() {
            joined.push(',');
        }
        joined.push_str(&value.to_string());
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_letters_and_digits() {
        assert!(names_attention("Fused-Infer Attention_Score"));
        assert!(names_attention("npu::npu_fused_infer_attention_score.out"));
        assert!(!names_attention("aten::mm"));
    }

    #[test]
    fn slots_are_lists_of_integers() -> Result<(), Error> {
        let read = |slot| dimensions(slot, "k.csv".as_ref(), 7);
        assert_eq!(read(" 1, ,02,")?, "1,2");
        assert_eq!(read("N/A")?, "");
        assert_eq!(read("").map_err(|error| error.to_string()), Ok(String::new()));
        let message = read("1,x").map_err(|error| error.to_string());
        assert_eq!(message, Err("k.csv:7: Input Shapes: slot 1,x is not a list of integers".to_owned()));
        Ok(())
    }
}
