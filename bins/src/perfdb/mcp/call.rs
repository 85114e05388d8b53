//! A call of a tool: what it may say, and the command line that it is.

use super::catalogue::{Entry, Kind, Parameter};
use super::roots::{Allowed, RootError, Roots};
use serde_json::{Map, Value, json};
use std::ffi::OsString;

/// Bytes of an answer: at least, where the call does not say, and at most.
const BYTES: [u64; 3] = [512, 8_000, 1_000_000];
/// Elements of a list in a call at most.
const MOST_ELEMENTS: usize = 100;

/// Form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
}

/// The run of a tool. Equal runs have equal answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) tool: &'static str,
    pub(super) arguments: Vec<OsString>,
    pub(super) form: Form,
    read: Vec<Allowed>,
}

/// A call that can be run.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) run: Run,
    pub(super) page: Option<String>,
    pub(super) max_bytes: usize,
}

/// Why a call cannot be run.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("arguments are not an object")]
    NotAnObject,
    #[error("{name}: unknown argument; {tool} takes {known}")]
    Unknown { name: String, tool: &'static str, known: String },
    #[error("{name}: missing; {about}")]
    Missing { name: &'static str, about: &'static str },
    #[error("{name}: {needed}")]
    Value { name: &'static str, needed: String },
    #[error("{name}")]
    Path { name: &'static str, source: RootError },
}

/// The parameters that every tool has, with their schemas.
fn common() -> [(&'static str, Value); 3] {
    let [least, usual, most] = BYTES;
    [
        (
            "format",
            json!({"type": "string", "enum": ["text", "json"], "default": "text",
                "description": "text: the verdict and one screen; json: all figures"}),
        ),
        (
            "max_bytes",
            json!({"type": "integer", "minimum": least, "maximum": most, "default": usual,
                "description": "Length of the answer at most; the most important comes first"}),
        ),
        (
            "page",
            json!({"type": "string",
                "description": "What an earlier answer to the same call left out: a page that it names"}),
        ),
    ]
}

/// What `tools/list` says of a tool.
pub(super) fn description(entry: &Entry) -> Value {
    let mut properties: Map<String, Value> =
        entry.parameters.iter().map(|parameter| (parameter.name.to_owned(), schema(parameter))).collect();
    properties.extend(common().map(|(name, schema)| (name.to_owned(), schema)));
    let required: Vec<&str> = entry.parameters.iter().filter(|one| one.is_required).map(|one| one.name).collect();
    json!({
        "name": entry.name,
        "description": entry.about,
        "inputSchema": {
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
    })
}

fn schema(parameter: &Parameter) -> Value {
    let mut schema = match parameter.kind {
        Kind::Path(_) | Kind::Text => json!({"type": "string"}),
        Kind::Paths(_) | Kind::Words => {
            json!({"type": "array", "items": {"type": "string"}, "maxItems": MOST_ELEMENTS})
        }
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::OneOf(names) => json!({"type": "string", "enum": names}),
    };
    schema["description"] = parameter.about.into();
    schema
}

/// The call that arguments describe. Every path in it lies in the folders of the server.
pub(super) fn prepare(entry: &'static Entry, arguments: &Value, roots: &Roots) -> Result<Call, CallError> {
    let nothing = Map::new();
    let given = match arguments {
        Value::Null => &nothing,
        Value::Object(given) => given,
        _ => return Err(CallError::NotAnObject),
    };
    let own = entry.parameters.iter().map(|parameter| parameter.name);
    let known: Vec<&str> = own.chain(common().map(|(name, _)| name)).collect();
    if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
        let name = perfdb_files::escape::excerpt(name).to_string();
        return Err(CallError::Unknown { name, tool: entry.name, known: known.join(", ") });
    }
    let given = |name: &str| given.get(name).filter(|value| !value.is_null());
    let form = match one_of("format", given("format"), &["text", "json"])? {
        Some("json") => Form::Json,
        _ => Form::Text,
    };
    let [least, usual, most] = BYTES;
    let max_bytes = match given("max_bytes") {
        None => usual,
        Some(value) => value.as_u64().filter(|bytes| (least..=most).contains(bytes)).ok_or_else(|| {
            CallError::Value { name: "max_bytes", needed: format!("a number from {least} to {most} is needed") }
        })?,
    };
    let page = given("page").map(|value| text("page", value)).transpose()?.map(str::to_owned);
    let mut parts = Parts { roots, options: Vec::new(), positional: Vec::new(), read: Vec::new() };
    if form == Form::Json {
        parts.options.extend(entry.json.iter().map(OsString::from));
    }
    for parameter in entry.parameters {
        match given(parameter.name) {
            Some(value) => parts.add(parameter, value)?,
            None if parameter.is_required => {
                return Err(CallError::Missing { name: parameter.name, about: parameter.about });
            }
            None => {}
        }
    }
    let Parts { options: mut words, positional, read, .. } = parts;
    if !positional.is_empty() {
        // Nothing of a call is taken for an option.
        words.push("--".into());
        words.extend(positional);
    }
    let run = Run { tool: entry.tool, arguments: words, form, read };
    Ok(Call { run, page, max_bytes: max_bytes.try_into().unwrap_or(usize::MAX) })
}

/// The command line of a call while it is made.
struct Parts<'r> {
    roots: &'r Roots,
    options: Vec<OsString>,
    positional: Vec<OsString>,
    read: Vec<Allowed>,
}

impl Parts<'_> {
    fn add(&mut self, parameter: &'static Parameter, value: &Value) -> Result<(), CallError> {
        let name = parameter.name;
        match parameter.kind {
            Kind::Flag => match (value.as_bool(), parameter.option) {
                (Some(true), Some(option)) => self.options.push(option.into()),
                (Some(_), _) => {}
                (None, _) => return Err(needed(name, "true or false is needed")),
            },
            Kind::Count => {
                let count = value.as_u64().ok_or_else(|| needed(name, "a whole number is needed"))?;
                self.push(parameter, count.to_string().into());
            }
            Kind::Text => self.push(parameter, text(name, value)?.into()),
            Kind::OneOf(names) => {
                if let Some(value) = one_of(name, Some(value), names)? {
                    self.push(parameter, value.into());
                }
            }
            Kind::Words => {
                for word in texts(name, value)? {
                    self.push(parameter, word.into());
                }
            }
            Kind::Path(wanted) => self.path(parameter, text(name, value)?, wanted)?,
            Kind::Paths(wanted) => {
                for path in texts(name, value)? {
                    self.path(parameter, path, wanted)?;
                }
            }
        }
        Ok(())
    }

    fn path(
        &mut self,
        parameter: &'static Parameter,
        text: &str,
        wanted: super::roots::Wanted,
    ) -> Result<(), CallError> {
        let allowed = self.roots.allow(text, wanted);
        let allowed = allowed.map_err(|source| CallError::Path { name: parameter.name, source })?;
        self.push(parameter, allowed.path.clone().into());
        self.read.push(allowed);
        Ok(())
    }

    fn push(&mut self, parameter: &Parameter, value: OsString) {
        match parameter.option {
            Some(option) => {
                let mut word = OsString::from(format!("{option}="));
                word.push(value);
                self.options.push(word);
            }
            None => self.positional.push(value),
        }
    }
}

fn needed(name: &'static str, what: &str) -> CallError {
    CallError::Value { name, needed: what.to_owned() }
}

fn text<'v>(name: &'static str, value: &'v Value) -> Result<&'v str, CallError> {
    let text = value.as_str().ok_or_else(|| needed(name, "a string is needed"))?;
    // An argument of a program ends at such a character.
    if text.contains('\0') { Err(needed(name, "a string without NUL is needed")) } else { Ok(text) }
}

fn texts<'v>(name: &'static str, value: &'v Value) -> Result<Vec<&'v str>, CallError> {
    let items = value.as_array().filter(|items| items.len() <= MOST_ELEMENTS);
    let items = items.ok_or_else(|| needed(name, &format!("a list of at most {MOST_ELEMENTS} strings is needed")))?;
    items.iter().map(|item| text(name, item)).collect()
}

fn one_of<'v>(name: &'static str, value: Option<&'v Value>, names: &[&str]) -> Result<Option<&'v str>, CallError> {
    let Some(value) = value else { return Ok(None) };
    let known = value.as_str().filter(|value| names.contains(value));
    known.map(Some).ok_or_else(|| needed(name, &format!("one of {} is needed", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::find;
    use super::*;

    fn prepared(tool: &str, arguments: Value) -> Result<(String, Call), String> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["a.json", "b.json"] {
            std::fs::write(root.join(name), "{}").unwrap();
        }
        std::fs::create_dir(root.join("db")).unwrap();
        let call = prepare(find(tool).unwrap(), &arguments, &Roots::open(std::slice::from_ref(&root)).unwrap());
        let call = call.map_err(|error| perfdb_files::with_causes(&error))?;
        let words: Vec<String> = call.run.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok((words.join(" ").replace(&root.display().to_string(), "ROOT"), call))
    }

    #[test]
    fn a_call_is_a_command_line() {
        for (tool, arguments, line) in [
            (
                "trace_explain",
                json!({"trace": "a.json", "phase": "decode", "top": 3}),
                "--phase=decode --top=3 -- ROOT/a.json",
            ),
            (
                "trace_diff",
                json!({"trace1": "a.json", "trace2": "b.json", "layers": true, "shapes": false, "format": "json"}),
                "--format=json --no-kernels --layers -- ROOT/a.json ROOT/b.json",
            ),
            ("db_query", json!({"database": "db", "words": ["--json=x", "-o", "1,2:bf16"], "phase": null}), ""),
            (
                "db_query",
                json!({"database": "db", "words": ["--json=x", "-o", "1,2:bf16"], "kernel": "--json=y"}),
                "--database-path=ROOT/db --kernel=--json=y -- --json=x -o 1,2:bf16",
            ),
            (
                "db_coverage",
                json!({"database": "db", "traces": ["a.json", "b.json"]}),
                "--database-path=ROOT/db --from-trace=ROOT/a.json --from-trace=ROOT/b.json",
            ),
        ] {
            match prepared(tool, arguments) {
                Ok((prepared, _)) => assert_eq!(prepared, line),
                Err(error) => {
                    assert!(line.is_empty() && error.starts_with("phase: unknown argument; db_query takes"), "{error}")
                }
            }
        }
    }

    #[test]
    fn wrong_values_are_named() {
        for (arguments, error) in [
            (json!([]), "arguments are not an object"),
            (json!({}), "trace: missing; Trace of a GPU profiler, gzip or not"),
            (json!({"trace": 1}), "trace: a string is needed"),
            (json!({"trace": "a.json", "top": -1}), "top: a whole number is needed"),
            (json!({"trace": "a.json", "phase": "x"}), "phase: one of all, prefill, decode, mixed is needed"),
            (json!({"trace": "a.json", "max_bytes": 9}), "max_bytes: a number from 512 to 1000000 is needed"),
            (json!({"trace": "a.json", "step": "a\u{0}"}), "step: a string without NUL is needed"),
            (json!({"trace": "c.json"}), "trace: c.json: No such file or directory (os error 2)"),
        ] {
            assert_eq!(prepared("trace_explain", arguments).unwrap_err(), error);
        }
        let many: Vec<String> = vec!["a.json".to_owned(); 101];
        let error = prepared("db_coverage", json!({"database": "db", "traces": many})).unwrap_err();
        assert_eq!(error, "traces: a list of at most 100 strings is needed");
    }
}
