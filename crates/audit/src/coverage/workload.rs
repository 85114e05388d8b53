//! What a forward pass asks of a database.

mod manifest;

use crate::coverage::Error;
use crate::coverage::suggestion::leaves::tensors;
use perfdb_query::{Grid, ParallelConfig, Query, Tensor, read_trace};
use std::path::Path;

/// The calls of a forward pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// What it is called.
    pub name: String,
    /// Its calls; equal ones are one question.
    pub questions: Vec<Question>,
}

/// A call, and how often it occurs.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What it is called: the operator or the kernel type.
    pub name: String,
    /// The call.
    pub query: Query,
    /// How often it occurs.
    pub calls: u64,
    /// Whether it has to be answered by a row as it is.
    pub is_critical: bool,
    /// Where it stands: a line of the manifest, or an event of the trace, counted from 0.
    pub place: u64,
    /// How long one call took in the simulation, where that is known.
    pub simulated_us: Option<f64>,
}

impl Question {
    /// One call.
    pub fn new(name: impl Into<String>, query: Query) -> Question {
        Question { name: name.into(), query, calls: 1, is_critical: false, place: 0, simulated_us: None }
    }

    /// This many of it.
    #[must_use]
    pub fn calls(mut self, calls: u64) -> Question {
        self.calls = calls;
        self
    }

    /// The shapes of the input tensors as in a table: `16,512;512,2048`. Scalars are left out.
    pub fn input_shapes(&self) -> String {
        let shape = |tensor: &&Tensor| tensor.shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        tensors(&self.query).iter().map(shape).collect::<Vec<_>>().join(";")
    }

    /// The data types of the same tensors: `bfloat16;bfloat16`.
    pub fn input_types(&self) -> String {
        tensors(&self.query).iter().map(|tensor| tensor.dtype.name()).collect::<Vec<_>>().join(";")
    }
}

impl Workload {
    /// The calls of a simulator's trace; the workload has the name of the file. `grid` is that of the devices, by which collectives find
    /// their tier where the trace does not tell it.
    ///
    /// # Errors
    /// When the trace cannot be read, or has no calls that were looked up in a database.
    pub fn of_trace(path: &Path, parallel: &ParallelConfig, grid: Option<&Grid>) -> Result<Workload, Error> {
        let calls = read_trace(path, parallel)?;
        if calls.is_empty() {
            return Err(Error::NoCalls { path: path.to_owned() });
        }
        let questions = calls.into_iter().map(|call| Question {
            query: match grid {
                Some(grid) => call.query.grid(grid.clone()),
                None => call.query,
            },
            name: call.operator,
            calls: call.count,
            is_critical: false,
            place: call.event,
            simulated_us: Some(call.duration_us),
        });
        Ok(Workload { name: name_of(path), questions: questions.collect() })
    }

    /// The workloads of a manifest: JSON lines with a `query`, and, where known, the `id` (or `workload_id`) of the
    /// workload, whether the call is `critical`, and the number of its `calls`. What a line does not say about its surroundings is as given.
    ///
    /// # Errors
    /// When the file cannot be read, has no question, or a line is none: the line, the field, and what is wrong.
    pub fn of_manifest(path: &Path, parallel: &ParallelConfig, grid: Option<&Grid>) -> Result<Vec<Workload>, Error> {
        let bytes = Workload::read_manifest(path)?;
        Workload::parse_manifest(path, &bytes, parallel, grid)
    }

    /// The bytes of a manifest. No line is read beyond what a line may have, no file beyond what a file may have.
    ///
    /// # Errors
    /// When the file cannot be read, or it or one of its lines is too long.
    pub fn read_manifest(path: &Path) -> Result<Vec<u8>, Error> {
        manifest::read(path)
    }

    /// The same from the bytes of the file.
    ///
    /// # Errors
    /// As [`of_manifest`](Self::of_manifest).
    pub fn parse_manifest(
        path: &Path,
        bytes: &[u8],
        parallel: &ParallelConfig,
        grid: Option<&Grid>,
    ) -> Result<Vec<Workload>, Error> {
        manifest::parse(path, bytes, parallel, grid)
    }
}

/// The name of a file without what says its format.
fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let name = [".json", ".jsonl"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    name.strip_suffix("_trace").unwrap_or(name).to_owned()
}
