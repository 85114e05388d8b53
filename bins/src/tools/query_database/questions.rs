//! Questions from the command line, a manifest or a trace.

use super::tensors::{argument, of_kernel, results};
use super::{Arguments, ParallelArguments};
use crate::Failure;
use perfdb_files::input::{self, Kind, LARGEST_TEXT_BYTES};
use perfdb_query::{Grid, ParallelConfig, Query, TracedCall, not_json, read_trace};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read};
use std::path::Path;

/// A question and what it is called.
pub(super) struct Question {
    /// As in the manifest; `None` where there is only one.
    pub(super) id: Option<Value>,
    /// For people.
    pub(super) name: String,
    pub(super) query: Query,
}

/// The questions of a command line, one after the other.
pub(super) enum Questions {
    One(Option<Box<Question>>),
    Manifest(Manifest),
}

impl Questions {
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let asked = &arguments.question;
        let query = match (&asked.kernel, asked.words.as_slice()) {
            (Some(kernel), words) => {
                of_kernel(kernel, words, asked.input_shapes.as_deref(), &asked.types)?.results(results(&asked.result)?)
            }
            (None, [operator, words @ ..]) => {
                let given = words.iter().map(|text| argument(text)).collect::<Result<Vec<_>, _>>()?;
                Query::operator(operator).arguments(given).results(results(&asked.result)?)
            }
            (None, []) => {
                let path = asked.manifest.as_deref().map(Path::new);
                return Ok(Questions::Manifest(Manifest::open(path, &arguments.parallel)?));
            }
        };
        let name = query.name().to_owned();
        let question = Question { id: None, name, query: surrounded(query, &arguments.parallel) };
        Ok(Questions::One(Some(Box::new(question))))
    }

    /// The manifest that they are read from.
    pub(super) fn manifest(&self) -> Option<&str> {
        match self {
            Questions::One(_) => None,
            Questions::Manifest(manifest) => Some(&manifest.name),
        }
    }

    /// The next question.
    pub(super) fn next(&mut self) -> Result<Option<Question>, Failure> {
        match self {
            Questions::One(one) => Ok(one.take().map(|one| *one)),
            Questions::Manifest(manifest) => manifest.next(),
        }
    }

    /// Whether the next question has to be read first; whoever asks may be waiting for answers.
    pub(super) fn would_wait(&self) -> bool {
        match self {
            Questions::One(_) => false,
            Questions::Manifest(manifest) => manifest.input.buffer().is_empty(),
        }
    }
}

fn surrounded(query: Query, arguments: &ParallelArguments) -> Query {
    let ParallelConfig { tp_size, ep_size, sequence_parallel } = arguments.of_calls();
    query.tp_size(tp_size).ep_size(ep_size).sequence_parallel(sequence_parallel).grid(arguments.layout.grid())
}

/// The calls of a trace that a profiling database answered, or was asked for in vain.
pub(super) fn traced_calls(path: &Path, arguments: &ParallelArguments) -> Result<Vec<TracedCall>, Failure> {
    let calls = read_trace(path, &arguments.of_calls())?;
    if calls.is_empty() {
        return Err(Failure::lines(vec![format!(
            "{}: no calls that were looked up in a profiling database (was it written by the analytic model?)",
            path.display()
        )]));
    }
    let Some(grid) = arguments.layout.grid() else { return Ok(calls) };
    let on_grid = |call: TracedCall| TracedCall { query: call.query.grid(grid.clone()), ..call };
    Ok(calls.into_iter().map(on_grid).collect())
}

/// The lines of a manifest; the command line's surroundings hold where a line says nothing.
pub(super) struct Manifest {
    name: String,
    input: BufReader<Box<dyn Read>>,
    line: u64,
    parallel: ParallelConfig,
    grid: Option<Grid>,
}

impl Manifest {
    fn open(path: Option<&Path>, asked: &ParallelArguments) -> Result<Self, Failure> {
        let (name, input): (String, Box<dyn Read>) = match path.filter(|path| *path != Path::new("-")) {
            Some(path) => {
                let file = input::open(path, Kind::Stream).map_err(|error| perfdb_files::Error::io(path, error))?;
                (path.display().to_string(), Box::new(file))
            }
            None if path.is_none() && std::io::stdin().is_terminal() => {
                return Err(Failure::usage(
                    "no query: give an operator, --kernel, --from-trace, --manifest, --list or JSON lines on stdin",
                ));
            }
            None => ("stdin".to_owned(), Box::new(std::io::stdin())),
        };
        Ok(Manifest {
            name,
            input: BufReader::new(input),
            line: 0,
            parallel: asked.of_calls(),
            grid: asked.layout.grid(),
        })
    }

    fn next(&mut self) -> Result<Option<Question>, Failure> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut self.input).take(LARGEST_TEXT_BYTES + 1).read_until(b'\n', &mut line);
            if read.map_err(|error| perfdb_files::Error::io(&self.name, error))? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if line.len() as u64 > LARGEST_TEXT_BYTES {
                let reason = format!("is longer than {} MiB", LARGEST_TEXT_BYTES >> 20);
                return Err(Failure::lines(vec![format!("{}:{}: {reason}", self.name, self.line)]));
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                let failure = |reason: String| Failure::lines(vec![format!("{}:{}: {reason}", self.name, self.line)]);
                // The column of an error counts on the line itself.
                return self.question(line.trim_ascii_end()).map(Some).map_err(failure);
            }
        }
    }

    /// The question of a line, or what is wrong with it.
    fn question(&self, line: &[u8]) -> Result<Question, String> {
        let value: Value = serde_json::from_slice(line).map_err(|error| not_json(&error))?;
        let object = value.as_object().ok_or("not an object")?;
        let query =
            Query::of_manifest_line(object, &self.parallel, self.grid.as_ref()).map_err(|error| error.to_string())?;
        let id = object.get("id").or_else(|| object.get("workload_id")).cloned();
        let id = id.unwrap_or_else(|| Value::from(self.line));
        let name = match &id {
            Value::String(name) => format!("{name} {}", query.name()),
            other => format!("{other} {}", query.name()),
        };
        Ok(Question { id: Some(id), name, query })
    }
}
