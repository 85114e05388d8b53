//! Questions and answers as JSON.

mod query;

use crate::answer::{Answer, Collocated, LookupError};
use crate::query::{Argument, Grid, Query, Results, Tensor};
use crate::trace::ParallelConfig;
use perfdb_pycompat::yaml;
use perfdb_store::op_mapping::Entry;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Why a JSON value is no question: the field, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if field.is_empty() { String::new() } else { format!("{field}: ") })]
pub struct MalformedQuery {
    /// The path of the field: `inputs[1].dtype`; empty for the question itself.
    pub field: String,
    /// What is wrong.
    pub reason: String,
}

type Result<T> = std::result::Result<T, MalformedQuery>;

fn malformed<T>(field: impl Into<String>, reason: impl Into<String>) -> Result<T> {
    Err(MalformedQuery { field: field.into(), reason: reason.into() })
}

/// The fields of a question.
const FIELDS: [&str; 20] = [
    "op",
    "kernel",
    "kernel_type",
    "inputs",
    "args",
    "output",
    "outputs",
    "kwargs",
    "ep_size",
    "tp_size",
    "sequence_parallel",
    "grid",
    "tier",
    "entry",
    "attention",
    "devices",
    "name",
    "layer",
    "id",
    "critical",
];

/// What is wrong with a line that is not JSON. It is one line, so that its column says where.
pub fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("not JSON: {what} at column {}", error.column())
}

impl Query {
    /// Reads the question of a manifest's line. What surrounds a call is taken from `parallel` and `grid` where the question does not name it.
    ///
    /// # Errors
    /// The first field that cannot be read, its path beginning with `query`.
    pub fn of_manifest_line(
        line: &Map<String, Value>,
        parallel: &ParallelConfig,
        grid: Option<&Grid>,
    ) -> Result<Query> {
        let Some(value) = line.get("query") else { return malformed("query", "missing") };
        let mut query = Query::from_json(value).map_err(|fault| MalformedQuery {
            field: if fault.field.is_empty() { "query".to_owned() } else { format!("query.{}", fault.field) },
            ..fault
        })?;
        let lacks = |key: &str| value.get(key).is_none();
        if lacks("ep_size") {
            query = query.ep_size(parallel.ep_size);
        }
        if lacks("tp_size") {
            query = query.tp_size(parallel.tp_size);
        }
        if lacks("sequence_parallel") {
            query = query.sequence_parallel(parallel.sequence_parallel);
        }
        if lacks("grid") {
            query = query.grid(grid.cloned());
        }
        Ok(query)
    }

    /// Reads the JSON form of a question.
    ///
    /// ```
    /// use perfdb_query::Query;
    ///
    /// let value = serde_json::json!({"op": "aten.mm.default", "inputs": [{"shape": [16, 512], "dtype": "bf16"}]});
    /// assert_eq!(Query::from_json(&value)?.name(), "aten.mm.default");
    /// # Ok::<(), perfdb_query::MalformedQuery>(())
    /// ```
    ///
    /// # Errors
    /// The first field that cannot be read.
    pub fn from_json(value: &Value) -> Result<Query> {
        let Some(object) = value.as_object() else { return malformed("", "not an object") };
        if let Some(unknown) = object.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return malformed(unknown, "unknown field");
        }
        let text = |key: &str| match object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => malformed(key, "not a text"),
        };
        let integer = |key: &str| match object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_i64() {
                Some(number) => Ok(Some(number)),
                None => malformed(key, "not an integer"),
            },
        };
        let mut query = match (text("op")?, text("kernel_type")?.or(text("kernel")?)) {
            (Some(name), None) => Query::operator(name),
            (None, Some(name)) => Query::kernel(name),
            (None, None) => return malformed("op", "missing"),
            (Some(_), Some(_)) => return malformed("kernel", "there is an op as well"),
        };
        query.arguments = match object.get("attention").filter(|value| !value.is_null()) {
            Some(attention) => attention_arguments(attention)?,
            None => arguments(object)?,
        };
        if let Some(devices) = integer("devices")? {
            query.arguments.push(Argument::List((0..devices).map(Argument::Integer).collect()));
        }
        query.results = results(object)?;
        if let Some(kwargs) = object.get("kwargs").filter(|value| !value.is_null()) {
            let Some(kwargs) = kwargs.as_object() else { return malformed("kwargs", "not an object") };
            for (name, value) in kwargs {
                query = query.keyword(name, argument(&format!("kwargs.{name}"), value)?);
            }
        }
        let is_parallel = match object.get("sequence_parallel") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(is_on)) => *is_on,
            Some(_) => return malformed("sequence_parallel", "not true or false"),
        };
        query = query.ep_size(integer("ep_size")?).tp_size(integer("tp_size")?).tier(integer("tier")?);
        query = query.sequence_parallel(is_parallel).grid(grid(object)?);
        if let Some(entry) = object.get("entry").filter(|value| !value.is_null()) {
            let map = yaml::parse(&entry.to_string()).ok().and_then(yaml::Node::into_map);
            let Some(map) = map else { return malformed("entry", "not an object") };
            query = query.entry(Entry::from_map(map));
            query.entry_json = Some(Arc::new(entry.clone()));
        }
        Ok(query)
    }
}

fn arguments(object: &Map<String, Value>) -> Result<Vec<Argument>> {
    let list = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(_) => malformed(key, "not a list"),
    };
    let (key, items) = match (list("inputs")?, list("args")?) {
        (Some(_), Some(_)) => return malformed("args", "there are inputs as well"),
        (Some(inputs), None) => {
            for (at, input) in inputs.iter().enumerate() {
                tensor(&format!("inputs[{at}]"), input)?;
            }
            ("inputs", inputs)
        }
        (None, Some(arguments)) => ("args", arguments),
        (None, None) => return Ok(Vec::new()),
    };
    items.iter().enumerate().map(|(at, item)| argument(&format!("{key}[{at}]"), item)).collect()
}

/// The short form of an attention call: query, key, type and lengths.
fn attention_arguments(value: &Value) -> Result<Vec<Argument>> {
    let field = |key: &str| match value.get(key) {
        Some(value) => Ok(value),
        None => malformed(format!("attention.{key}"), "missing"),
    };
    let tensor =
        |key: &str| tensor(&format!("attention.{key}"), &json!({"shape": field(key)?, "dtype": field("dtype")?}));
    let lengths = integers("attention.seq_lens", field("seq_lens")?)?;
    let (query, key) = (Argument::Tensor(tensor("query")?), Argument::Tensor(tensor("key")?));
    let lengths = Argument::Tensor(Tensor::of_values(lengths, crate::DType::Int64));
    Ok(vec![query, key.clone(), key, Argument::None, Argument::None, Argument::None, lengths])
}

fn results(object: &Map<String, Value>) -> Result<Results> {
    let present = |key: &str| object.get(key).filter(|value| !value.is_null());
    match (present("output"), present("outputs")) {
        (Some(_), Some(_)) => malformed("outputs", "there is an output as well"),
        (Some(output), None) => Ok(Results::One(argument("output", output)?)),
        (None, Some(Value::Array(outputs))) => {
            let outputs = outputs.iter().enumerate().map(|(at, item)| argument(&format!("outputs[{at}]"), item));
            Ok(Results::Many(outputs.collect::<Result<_>>()?))
        }
        (None, Some(_)) => malformed("outputs", "not a list"),
        (None, None) => Ok(Results::Unknown),
    }
}

fn argument(field: &str, value: &Value) -> Result<Argument> {
    Ok(match value {
        Value::Null => Argument::None,
        Value::Bool(value) => Argument::Boolean(*value),
        Value::String(text) => Argument::Text(text.clone()),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Argument::Integer(number),
            None => Argument::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::Array(items) => {
            let items = items.iter().enumerate().map(|(at, item)| argument(&format!("{field}[{at}]"), item));
            Argument::List(items.collect::<Result<_>>()?)
        }
        Value::Object(_) => Argument::Tensor(tensor(field, value)?),
    })
}

fn tensor(field: &str, value: &Value) -> Result<Tensor> {
    let Some(object) = value.as_object() else { return malformed(field, "not a tensor") };
    if let Some(unknown) = object.keys().find(|key| !matches!(key.as_str(), "shape" | "dtype" | "values")) {
        return malformed(format!("{field}.{unknown}"), "unknown field");
    }
    let Some(shape) = object.get("shape") else { return malformed(format!("{field}.shape"), "missing") };
    let shape = integers(&format!("{field}.shape"), shape)?;
    if shape.iter().any(|dimension| *dimension < 0) {
        return malformed(format!("{field}.shape"), "a dimension below 0");
    }
    let dtype = match object.get("dtype") {
        Some(Value::String(name)) => name.parse(),
        Some(_) => return malformed(format!("{field}.dtype"), "not a text"),
        None => return malformed(format!("{field}.dtype"), "missing"),
    };
    let dtype = dtype.or_else(|error: crate::UnknownDType| malformed(format!("{field}.dtype"), error.to_string()))?;
    let values = object.get("values").filter(|value| !value.is_null());
    let values = values.map(|values| integers(&format!("{field}.values"), values)).transpose()?;
    Ok(Tensor { shape, dtype, values })
}

fn integers(field: &str, value: &Value) -> Result<Vec<i64>> {
    let list = value.as_array().and_then(|list| list.iter().map(Value::as_i64).collect::<Option<Vec<_>>>());
    list.map_or_else(|| malformed(field, "not a list of integers"), Ok)
}

fn grid(object: &Map<String, Value>) -> Result<Option<Grid>> {
    let Some(value) = object.get("grid").filter(|value| !value.is_null()) else { return Ok(None) };
    let field = |key: &str| match value.get(key) {
        Some(list) => integers(&format!("grid.{key}"), list),
        None => malformed(format!("grid.{key}"), "missing"),
    };
    Ok(Some(Grid { shape: field("shape")?, tiers: field("tiers")? }))
}

/// The JSON form of an answer, or of the reason why there is none.
pub fn answer_to_json(answer: &std::result::Result<Answer, LookupError>) -> Value {
    match answer {
        Ok(answer) => hit(answer),
        Err(miss) => {
            let mut object = json!({"hit": false, "reason": miss.reason.to_string()});
            if let Some(detail) = &miss.detail {
                object["detail"] = json!(detail);
            }
            object
        }
    }
}

fn hit(answer: &Answer) -> Value {
    let mut object = json!({
        "hit": true,
        "duration_us": answer.duration_us,
        // The same under the name that the simulator's reader has.
        "latency_us": answer.duration_us,
        "confidence": answer.confidence,
        "source": answer.source.name(),
        "kernel_type": answer.kernel_type(),
    });
    if answer.is_of_other_version() {
        object["other_version"] = json!(true);
    }
    if let Some(rule) = answer.rule {
        object["rule"] = json!(rule);
    }
    if !answer.parts().is_empty() {
        let is_interpolated = answer.rule == Some("interpolated_composite");
        let part = |part: &crate::Part| {
            if is_interpolated {
                json!([&*part.kernel_type, part.source.name(), part.rule, part.duration_us])
            } else {
                json!([&*part.kernel_type, part.rule])
            }
        };
        object["parts"] = answer.parts().iter().map(part).collect();
    }
    if !answer.missed_kernels().is_empty() {
        object["missed_kernels"] = answer.missed_kernels().iter().map(|name| Value::from(&**name)).collect();
    }
    if let Some(method) = answer.method() {
        object["method"] = json!(method);
    }
    if let Some(between) = answer.interpolation() {
        object["axes"] = json!(between.axes.as_slice());
        object["candidate_count"] = json!(between.candidate_count);
        object["points"] = between.points.iter().map(|place| json!(place.coordinates.as_slice())).collect();
        if between.axes.len() > 1 {
            object["unique"] = json!(between.range_us.is_none());
        }
        if let Some(range) = between.range_us {
            object["range_us"] = json!(range);
        }
    }
    if let Some(prediction) = answer.prediction() {
        object["low_us"] = json!(prediction.low_us);
        object["high_us"] = json!(prediction.high_us);
        object["class"] = json!(prediction.class.name());
        if let Some(efficiency) = prediction.efficiency {
            object["efficiency"] = json!(efficiency);
        }
        if !prediction.rows.is_empty() {
            object["weights"] =
                prediction.rows.iter().map(|(row, weight)| json!({"row": row.to_string(), "weight": weight})).collect();
        }
        if let Some(Collocated { row, excess, share }) = &prediction.collocated {
            object["same_sizes"] = json!({"row": row.to_string(), "excess": excess, "share": share});
        }
        object["sentence"] = json!(prediction.sentence);
    }
    if !answer.rows.is_empty() {
        object["rows"] = answer.rows.iter().map(|row| json!(row.to_string())).collect();
    }
    object
}
