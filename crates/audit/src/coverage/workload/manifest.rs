//! Workloads as JSON lines.

use super::{Question, Workload, name_of};
use crate::coverage::Error;
use indexmap::IndexMap;
use perfdb_files::input::{self, Kind, LARGEST_TEXT_BYTES};
use perfdb_query::{Grid, ParallelConfig, Query, not_json};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

const FIELDS: [&str; 6] = ["id", "workload_id", "critical", "calls", "name", "query"];

/// Bytes that a line, and a file, has at most.
const LONGEST_LINE: u64 = 64 << 20;
const LARGEST_FILE: u64 = 1 << 30;

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failure = |error| perfdb_files::Error::io(path, error);
    let file = input::open(path, Kind::Stream).map_err(failure)?;
    if file.metadata().map_err(failure)?.len() > LARGEST_FILE {
        let reason = format!("is longer than {} MiB", LARGEST_FILE >> 20);
        return Err(failure(io::Error::new(io::ErrorKind::FileTooLarge, reason)).into());
    }
    read_lines(path, BufReader::new(file), LONGEST_LINE, LARGEST_FILE)
}

fn read_lines(path: &Path, mut input: impl BufRead, longest: u64, largest: u64) -> Result<Vec<u8>, Error> {
    let failure = |error| perfdb_files::Error::io(path, error);
    let mut bytes = Vec::new();
    for line in 1.. {
        let read = input.by_ref().take(longest + 1).read_until(b'\n', &mut bytes).map_err(failure)?;
        let too_long = |reason: String| Err(Error::Line { path: path.to_owned(), line, reason });
        if read == 0 {
            break;
        }
        if read as u64 > longest {
            return too_long(format!("the line has more than {longest} bytes"));
        }
        if bytes.len() as u64 > largest {
            return too_long(format!("the file has more than {largest} bytes up to here"));
        }
    }
    Ok(bytes)
}

/// The questions of one workload by their text: equal ones are one.
type Questions = IndexMap<String, Question>;

pub(super) fn parse(
    path: &Path,
    bytes: &[u8],
    parallel: &ParallelConfig,
    grid: Option<&Grid>,
) -> Result<Vec<Workload>, Error> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut workloads: IndexMap<String, Questions> = IndexMap::new();
    for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let failure = |reason| Error::Line { path: path.to_owned(), line, reason };
        if text.len() as u64 > LARGEST_TEXT_BYTES {
            return Err(failure(format!("is longer than {} MiB", LARGEST_TEXT_BYTES >> 20)));
        }
        let (workload, key, question) = question(text, line, parallel, grid).map_err(failure)?;
        let questions = workloads.entry(workload.unwrap_or_else(|| name_of(path))).or_default();
        match questions.get_mut(&key) {
            Some(known) => {
                known.calls = known.calls.saturating_add(question.calls);
                known.is_critical |= question.is_critical;
            }
            None => {
                questions.insert(key, question);
            }
        }
    }
    if workloads.is_empty() {
        return Err(Error::NoQuestions { path: path.to_owned() });
    }
    let workload =
        |(name, questions): (String, Questions)| Workload { name, questions: questions.into_values().collect() };
    Ok(workloads.into_iter().map(workload).collect())
}

/// The workload, the text of the query and the question of a line, or what is wrong with it.
fn question(
    text: &[u8],
    line: usize,
    parallel: &ParallelConfig,
    grid: Option<&Grid>,
) -> Result<(Option<String>, String, Question), String> {
    let value: Value = serde_json::from_slice(text.trim_ascii_end()).map_err(|error| not_json(&error))?;
    let object = value.as_object().ok_or("not an object")?;
    if let Some(unknown) = object.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(format!("{unknown}: unknown field"));
    }
    let id = match (object.get("id"), object.get("workload_id")) {
        (Some(_), Some(_)) => return Err("workload_id: there is an id as well".to_owned()),
        (Some(id), None) => Some(name("id", id)?),
        (None, Some(id)) => Some(name("workload_id", id)?),
        (None, None) => None,
    };
    let is_critical = match object.get("critical") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_critical)) => *is_critical,
        Some(_) => return Err("critical: not true or false".to_owned()),
    };
    let calls = match object.get("calls") {
        None | Some(Value::Null) => 1,
        Some(calls) => calls.as_u64().filter(|calls| *calls > 0).ok_or("calls: not an integer above 0")?,
    };
    let parsed = Query::of_manifest_line(object, parallel, grid).map_err(|error| error.to_string())?;
    let query = &object["query"];
    let name = match object.get("name") {
        None | Some(Value::Null) => parsed.name().to_owned(),
        Some(given) => name("name", given)?,
    };
    let question = Question { calls, is_critical, place: line as u64, ..Question::new(name, parsed) };
    Ok((id, query.to_string(), question))
}

fn name(field: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("{field}: neither a text nor a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<Workload>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = folder.path().join("calls.jsonl");
        std::fs::write(&path, text).map_err(|error| error.to_string())?;
        let workloads = Workload::of_manifest(&path, &ParallelConfig::default(), None);
        let own = path.display().to_string();
        workloads.map_err(|error| error.to_string().replace(&own, "calls.jsonl"))
    }

    #[test]
    fn lines_of_one_workload_belong_together_and_equal_questions_are_one() -> Result<(), String> {
        let mm = r#""query": {"op": "aten.mm.default", "inputs": [{"shape": [16, 512], "dtype": "bf16"}]}"#;
        let text = format!(
            "{{\"id\": \"prefill\", {mm}}}\n\n{{\"workload_id\": \"decode\", {mm}}}\n{{\"id\": \"prefill\", \"critical\": true, \"calls\": 3, {mm}}}\n{{{mm}}}\n"
        );
        let found: Vec<_> = read_text(&text)?
            .into_iter()
            .map(|workload| {
                let questions = workload.questions.iter();
                (workload.name, questions.map(|one| (one.calls, one.is_critical, one.place)).collect::<Vec<_>>())
            })
            .collect();
        let expected =
            [("prefill", vec![(4, true, 1)]), ("decode", vec![(1, false, 3)]), ("calls", vec![(1, false, 5)])];
        assert_eq!(found, expected.map(|(name, questions)| (name.to_owned(), questions)));
        Ok(())
    }

    #[test]
    fn lines_and_files_are_bounded() {
        let of = |text: &str| {
            let read = read_lines(Path::new("calls.jsonl"), text.as_bytes(), 8, 20);
            read.map(|bytes| bytes.len()).map_err(|error| error.to_string())
        };
        assert_eq!(of("1234567\n1234567\nabc"), Ok(19));
        assert_eq!(of("\n12345678\n"), Err("calls.jsonl:2: the line has more than 8 bytes".to_owned()));
        assert_eq!(
            of("1234567\n1234567\n1234567\n"),
            Err("calls.jsonl:3: the file has more than 20 bytes up to here".to_owned())
        );
    }

    #[test]
    fn a_line_that_is_no_question_is_named_with_its_field() {
        let of = |text: &str| read_text(text).unwrap_err();
        assert_eq!(of(""), "calls.jsonl: no questions");
        assert_eq!(of("[1]\n"), "calls.jsonl:1: not an object");
        assert_eq!(of("\n{\"query\"\n"), "calls.jsonl:2: not JSON: EOF while parsing an object at column 8");
        assert_eq!(of("{\"id\": \"a\"}"), "calls.jsonl:1: query: missing");
        assert_eq!(of("{\"critcal\": true, \"query\": {}}"), "calls.jsonl:1: critcal: unknown field");
        assert_eq!(of("{\"critical\": 1, \"query\": {\"op\": \"a\"}}"), "calls.jsonl:1: critical: not true or false");
        assert_eq!(of("{\"calls\": 0, \"query\": {\"op\": \"a\"}}"), "calls.jsonl:1: calls: not an integer above 0");
        assert_eq!(
            of("{\"query\": {\"op\": \"a\", \"inputs\": [{\"shape\": [1], \"dtype\": \"b17\"}]}}").split(": ").nth(1),
            Some("query.inputs[0].dtype")
        );
    }
}
