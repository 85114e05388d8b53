//! Tables with a row per kernel that Ascend's profiler writes, `kernel_details.csv` and `op_summary.csv`: which columns count, and
//! how their cells are read.

use std::borrow::Cow;

use crate::records::{Cell, Form};
use crate::time::{Picoseconds, picoseconds};

/// Where the columns that count stand.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Type of the operator.
    pub kind: Option<usize>,
    /// Start.
    pub start: Option<usize>,
    /// Duration.
    pub duration: Option<usize>,
    /// Name of the kernel, often with the number of the instance.
    pub name: Option<usize>,
    /// How long the stream was idle before.
    pub wait: Option<usize>,
    /// Stream.
    pub stream: Option<usize>,
    /// Device.
    pub device: Option<usize>,
    /// Step of the profiler's schedule.
    pub step: Option<usize>,
    /// Kind of core, or of task.
    pub core: Option<usize>,
    /// Task.
    pub task: Option<usize>,
}

impl Places {
    /// Finds the columns under the names of either table; of two of one name the last one.
    pub fn new<T: AsRef<str>>(header: &[T]) -> Places {
        let find = |names: &[&str]| {
            names.iter().find_map(|name| header.iter().rposition(|column| column.as_ref().trim() == *name))
        };
        Places {
            kind: find(&["Type", "OP Type"]),
            start: find(&["Start Time(us)", "Task Start Time(us)"]),
            duration: find(&["Duration(us)", "Task Duration(us)"]),
            name: find(&["Name", "Op Name"]),
            wait: find(&["Wait Time(us)", "Task Wait Time(us)"]),
            stream: find(&["Stream ID"]),
            device: find(&["Device_id"]),
            step: find(&["Step Id"]),
            core: find(&["Accelerator Core", "Task Type"]),
            task: find(&["Task ID"]),
        }
    }

    /// Whether this is a table of kernels at all.
    pub fn is_table(&self) -> bool {
        self.kind.is_some() || self.start.is_some() || self.duration.is_some()
    }

    /// What is needed for kernels with their times, and missing.
    pub fn missing(&self) -> Vec<&'static str> {
        let needed = [("Type", self.kind), ("Start Time(us)", self.start), ("Duration(us)", self.duration)];
        needed.into_iter().filter(|(_, place)| place.is_none()).map(|(name, _)| name).collect()
    }
}

/// One record of a table.
#[derive(Debug, Clone, Copy)]
pub struct Record<'t> {
    /// The text that the cells are places in.
    pub text: &'t [u8],
    /// The cells.
    pub cells: &'t [Cell],
}

impl<'t> Record<'t> {
    /// The cell of a column without whitespace around it; empty where there is none.
    pub fn cell(&self, place: Option<usize>) -> Cow<'t, str> {
        let Some(cell) = place.and_then(|place| self.cells.get(place)) else { return Cow::Borrowed("") };
        let mut buffer = Vec::new();
        if cell.form == Form::Plain
            && let Ok(text) = std::str::from_utf8(cell.raw(self.text))
        {
            return Cow::Borrowed(trimmed(text));
        }
        Cow::Owned(trimmed(&String::from_utf8_lossy(cell.decode(self.text, &mut buffer))).to_owned())
    }

    /// The names of the columns, where this is the first record.
    pub fn names(&self) -> Vec<String> {
        (0..self.cells.len()).map(|at| self.cell(Some(at)).into_owned()).collect()
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character))
}

/// A cell as a finite decimal number of microseconds.
pub fn time(text: &str) -> Option<Picoseconds> {
    let number = text.strip_prefix('+').unwrap_or(text);
    if !number.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    picoseconds(number.as_bytes())
}

/// Whether a row is of a collective: by its core or task type, or by its type.
pub fn is_collective(kind: &str, core: &str) -> bool {
    kind.starts_with("hcom_") || matches!(core, "HCCL" | "COMMUNICATION")
}
