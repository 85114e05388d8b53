//! Questions from the command line, a manifest or a trace.

use super::{Arguments, SurroundingArguments};
use crate::Failure;
use perfdb_files::input::{self, Kind, LARGEST_TEXT_BYTES};
use perfdb_query::{Argument, DType, Grid, Query, Results, Surroundings, Tensor, TracedCall, not_json, read_trace};
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
    List(std::vec::IntoIter<Question>),
    Manifest(Manifest),
}

impl Questions {
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let asked = &arguments.question;
        if let Some(trace) = &asked.from_trace {
            return Ok(Questions::List(of_trace(trace.as_ref(), &arguments.surroundings)?.into_iter()));
        }
        let query = match (&asked.operator, &asked.kernel) {
            (Some(operator), _) => {
                let given = asked.arguments.iter().map(|text| argument(text)).collect::<Result<Vec<_>, _>>()?;
                Query::operator(operator).arguments(given).results(results(&asked.output)?)
            }
            (None, Some(kernel)) => of_kernel(kernel, asked.input_shapes.as_deref().unwrap_or_default(), &asked.types)?
                .results(results(&asked.output)?),
            (None, None) => {
                let path = asked.manifest.as_deref().map(Path::new);
                return Ok(Questions::Manifest(Manifest::open(path, &arguments.surroundings)?));
            }
        };
        let name = query.name().to_owned();
        let question = Question { id: None, name, query: surrounded(query, &arguments.surroundings) };
        Ok(Questions::List(vec![question].into_iter()))
    }

    /// The next question.
    pub(super) fn next(&mut self) -> Result<Option<Question>, Failure> {
        match self {
            Questions::List(list) => Ok(list.next()),
            Questions::Manifest(manifest) => manifest.next(),
        }
    }

    /// Whether the next question has to be read first; whoever asks may be waiting for answers.
    pub(super) fn would_wait(&self) -> bool {
        match self {
            Questions::List(_) => false,
            Questions::Manifest(manifest) => manifest.input.buffer().is_empty(),
        }
    }
}

fn surrounded(query: Query, arguments: &SurroundingArguments) -> Query {
    let Surroundings { tp_size, ep_size, sequence_parallel } = arguments.of_calls();
    query.tp_size(tp_size).ep_size(ep_size).sequence_parallel(sequence_parallel).grid(arguments.layout.grid())
}

fn of_trace(path: &Path, arguments: &SurroundingArguments) -> Result<Vec<Question>, Failure> {
    let calls = traced_calls(path, arguments)?;
    let question =
        |call: TracedCall| Question { id: Some(Value::from(call.event)), name: call.operator, query: call.query };
    Ok(calls.into_iter().map(question).collect())
}

/// The calls of a trace that a profiling database answered, or was asked for in vain.
pub(super) fn traced_calls(path: &Path, arguments: &SurroundingArguments) -> Result<Vec<TracedCall>, Failure> {
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

fn results(outputs: &[String]) -> Result<Results, Failure> {
    let mut tensors = outputs.iter().map(|text| tensor(text).map(Argument::Tensor)).collect::<Result<Vec<_>, _>>()?;
    Ok(match tensors.len() {
        0 => Results::Unknown,
        1 => Results::One(tensors.remove(0)),
        _ => Results::Many(tensors),
    })
}

/// A kernel by the cells of a table.
fn of_kernel(kernel: &str, shapes: &str, types: &str) -> Result<Query, Failure> {
    let shapes: Vec<&str> = shapes.split(';').map(str::trim).filter(|shape| !shape.is_empty()).collect();
    let types: Vec<&str> = types.split(';').map(str::trim).filter(|name| !name.is_empty()).collect();
    if types.len() != 1 && types.len() != shapes.len() {
        return Err(Failure::usage(format!("--types has {} types for {} shapes", types.len(), shapes.len())));
    }
    let mut query = Query::kernel(kernel);
    for (at, shape) in shapes.iter().enumerate() {
        let name = types.get(at).or(types.first()).copied().unwrap_or_default();
        query = query.input(tensor(&format!("{shape}:{name}"))?);
    }
    Ok(query)
}

/// An argument: a tensor, nothing, or JSON.
fn argument(text: &str) -> Result<Argument, Failure> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(Argument::None);
    }
    let is_json = text.starts_with(['[', '{', '"']) || !text.contains(':');
    if !is_json {
        return tensor(text).map(Argument::Tensor);
    }
    let malformed = |reason: String| {
        Failure::usage(format!("argument '{text}': {reason} (a tensor is DIMENSIONS:TYPE, such as 16,5120:bf16)"))
    };
    let value: Value = serde_json::from_str(text).map_err(|error| malformed(not_json(&error)))?;
    let call = serde_json::json!({"op": "", "args": [value]});
    let query = Query::from_json(&call).map_err(|error| malformed(error.reason))?;
    query.positional().first().cloned().ok_or_else(|| malformed("nothing".to_owned()))
}

/// `16,5120:bf16`, or `2:int64@256,300` with contents.
fn tensor(text: &str) -> Result<Tensor, Failure> {
    let malformed = |reason: String| Failure::usage(format!("tensor '{text}': {reason}"));
    let integers = |list: &str| -> Result<Vec<i64>, Failure> {
        let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.parse().map_err(|_| malformed(format!("'{part}' is no integer")))).collect()
    };
    let (shape, rest) = text.split_once(':').ok_or_else(|| malformed("no ':' before the data type".to_owned()))?;
    let (name, values) = match rest.split_once('@') {
        Some((name, values)) => (name, Some(integers(values)?)),
        None => (rest, None),
    };
    let dtype: DType = name.parse().map_err(|error: perfdb_query::UnknownDType| malformed(error.to_string()))?;
    let shape = integers(shape)?;
    if shape.iter().any(|dimension| *dimension < 0) {
        return Err(malformed("a dimension below 0".to_owned()));
    }
    Ok(Tensor { shape, dtype, values })
}

/// The lines of a manifest; the command line's surroundings hold where a line says nothing.
pub(super) struct Manifest {
    name: String,
    input: BufReader<Box<dyn Read>>,
    line: u64,
    surroundings: Surroundings,
    grid: Option<Grid>,
}

impl Manifest {
    fn open(path: Option<&Path>, asked: &SurroundingArguments) -> Result<Self, Failure> {
        let (name, input): (String, Box<dyn Read>) = match path.filter(|path| *path != Path::new("-")) {
            Some(path) => {
                let file = input::open(path, Kind::Stream).map_err(|error| perfdb_files::Error::io(path, error))?;
                (path.display().to_string(), Box::new(file))
            }
            None if path.is_none() && std::io::stdin().is_terminal() => {
                return Err(Failure::usage(
                    "no question: give an operator, --kernel, --from-trace, --manifest or JSON lines on stdin",
                ));
            }
            None => ("stdin".to_owned(), Box::new(std::io::stdin())),
        };
        Ok(Manifest {
            name,
            input: BufReader::new(input),
            line: 0,
            surroundings: asked.of_calls(),
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
        let query = Query::of_manifest_line(object, &self.surroundings, self.grid.as_ref())
            .map_err(|error| error.to_string())?;
        let id = object.get("id").or_else(|| object.get("workload_id")).cloned();
        let id = id.unwrap_or_else(|| Value::from(self.line));
        let name = match &id {
            Value::String(name) => format!("{name} {}", query.name()),
            other => format!("{other} {}", query.name()),
        };
        Ok(Question { id: Some(id), name, query })
    }
}
