//! Questions from the command line, a manifest or a trace.

use super::{Arguments, Question, SurroundingArguments};
use crate::Failure;
use perfdb_query::{Argument, DType, Grid, Query, Results, Surroundings, Tensor, TracedCall, read_trace};
use serde_json::Value;
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

/// All questions of a command line.
pub(super) fn read(arguments: &Arguments) -> Result<Vec<Question>, Failure> {
    let asked = &arguments.question;
    if let Some(trace) = &asked.from_trace {
        return of_trace(trace.as_ref(), &arguments.surroundings);
    }
    let query = match (&asked.operator, &asked.kernel) {
        (Some(operator), _) => {
            let given = asked.arguments.iter().map(|text| argument(text)).collect::<Result<Vec<_>, _>>()?;
            Query::operator(operator).arguments(given).results(results(&asked.output)?)
        }
        (None, Some(kernel)) => of_kernel(kernel, asked.input_shapes.as_deref().unwrap_or_default(), &asked.types)?
            .results(results(&asked.output)?),
        (None, None) => return manifest(asked.manifest.as_deref().map(Path::new), &arguments.surroundings),
    };
    let name = query.name().to_owned();
    Ok(vec![Question { id: None, name, query: surrounded(query, &arguments.surroundings) }])
}

/// The surroundings of a call, from the command line.
fn surroundings(arguments: &SurroundingArguments) -> Surroundings {
    Surroundings {
        tp_size: arguments.tp_size,
        ep_size: arguments.ep_size,
        sequence_parallel: arguments.sequence_parallel,
    }
}

fn surrounded(query: Query, arguments: &SurroundingArguments) -> Query {
    let query = query.ep_size(arguments.ep_size).tp_size(arguments.tp_size);
    query.sequence_parallel(arguments.sequence_parallel).grid(grid(arguments))
}

pub(super) fn grid(arguments: &SurroundingArguments) -> Option<Grid> {
    (!arguments.grid.is_empty()).then(|| Grid { shape: arguments.grid.clone(), tiers: arguments.tiers.clone() })
}

fn of_trace(path: &Path, arguments: &SurroundingArguments) -> Result<Vec<Question>, Failure> {
    let calls = traced_calls(path, arguments)?;
    let question = |call: TracedCall| {
        let query = match grid(arguments) {
            Some(grid) => call.query.grid(grid),
            None => call.query,
        };
        Question { id: Some(Value::from(call.event)), name: call.operator, query }
    };
    Ok(calls.into_iter().map(question).collect())
}

/// The calls of a trace that a profiling database answered, or was asked for in vain.
pub(super) fn traced_calls(path: &Path, arguments: &SurroundingArguments) -> Result<Vec<TracedCall>, Failure> {
    let calls = read_trace(path, &surroundings(arguments))?;
    match calls.is_empty() {
        true => Err(Failure::lines(vec![format!(
            "{}: no calls that were looked up in a profiling database (was it written by the analytic model?)",
            path.display()
        )])),
        false => Ok(calls),
    }
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

/// The lines of a manifest; the command line's surroundings hold where a line has none.
fn manifest(path: Option<&Path>, arguments: &SurroundingArguments) -> Result<Vec<Question>, Failure> {
    let path = path.filter(|path| *path != Path::new("-"));
    let mut text = String::new();
    let name = match path {
        Some(path) => {
            text = std::fs::read_to_string(path).map_err(|error| perfdb_files::Error::io(path, error))?;
            path.display().to_string()
        }
        None => {
            if std::io::stdin().is_terminal() {
                return Err(Failure::usage(
                    "no question: give an operator, --kernel, --from-trace, --manifest or JSON lines on stdin",
                ));
            }
            let read = std::io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| perfdb_files::Error::io("stdin", error))?;
            "stdin".to_owned()
        }
    };
    let mut questions = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let failure = |reason: String| Failure::lines(vec![format!("{name}:{}: {reason}", at + 1)]);
        let value: Value = serde_json::from_str(line).map_err(|error| failure(not_json(&error)))?;
        let Some(object) = value.as_object() else { return Err(failure("not an object".to_owned())) };
        let Some(query) = object.get("query") else { return Err(failure("query: missing".to_owned())) };
        let id = object.get("id").or_else(|| object.get("workload_id")).cloned();
        let parsed = Query::from_json(query).map_err(|error| {
            failure(if error.field.is_empty() { format!("query: {error}") } else { format!("query.{error}") })
        })?;
        let parsed = with_defaults(parsed, query, arguments);
        let id = id.unwrap_or_else(|| Value::from(at + 1));
        let name = match &id {
            Value::String(name) => format!("{name} {}", parsed.name()),
            other => format!("{other} {}", parsed.name()),
        };
        questions.push(Question { id: Some(id), name, query: parsed });
    }
    Ok(questions)
}

/// What is wrong with a text that is not JSON; it is one line, so that its column says where.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("not JSON: {what} at column {}", error.column())
}

fn with_defaults(mut query: Query, value: &Value, arguments: &SurroundingArguments) -> Query {
    let lacks = |key: &str| value.get(key).is_none();
    if lacks("ep_size") {
        query = query.ep_size(arguments.ep_size);
    }
    if lacks("tp_size") {
        query = query.tp_size(arguments.tp_size);
    }
    if lacks("sequence_parallel") {
        query = query.sequence_parallel(arguments.sequence_parallel);
    }
    if lacks("grid") {
        query = query.grid(grid(arguments));
    }
    query
}
