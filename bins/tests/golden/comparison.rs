//! How what was written is held against what was expected.

use perfdb_pycompat::value::Value;
use serde::Deserialize;

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum How {
    /// the same bytes
    #[default]
    Exact,
    /// the same lines but for whitespace at their ends
    LinesRstrip,
    /// the same cells
    Csv,
    /// the same keys and values, floats to 1e-9
    Json,
    /// the keys and values that are expected, whatever else there is; rows are found by their name
    JsonSubset,
    Ignore,
}

/// Where the two differ first, if they do.
pub(crate) fn difference(got: &[u8], want: &[u8], how: How) -> Option<String> {
    if got == want {
        return None;
    }
    let texts = || (String::from_utf8_lossy(got).into_owned(), String::from_utf8_lossy(want).into_owned());
    match how {
        How::Ignore => None,
        How::Exact => Some(first_line(&texts().0, &texts().1)),
        How::LinesRstrip => {
            let (got, want) = texts();
            let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
            let (got, want) = (trimmed(&got), trimmed(&want));
            (got != want).then(|| first_line(&got, &want))
        }
        How::Csv => {
            let (got, want) = (records(got), records(want));
            let row = got.iter().zip(&want).position(|(got, want)| got != want);
            match row {
                Some(row) => Some(format!("row {}: got {:?}, expected {:?}", row + 1, got[row], want[row])),
                None => (got.len() != want.len()).then(|| format!("got {} rows, expected {}", got.len(), want.len())),
            }
        }
        How::Json | How::JsonSubset => {
            let compare = if how == How::Json { value_difference } else { missing_value };
            let document = |bytes| perfdb_trace::json::parse(bytes).map_err(|error| format!("not JSON: {error}"));
            match (document(got), document(want)) {
                (Ok(got), Ok(want)) => compare(&got, &want, "$"),
                (Err(error), _) | (_, Err(error)) => Some(error),
            }
        }
    }
}

fn first_line(got: &str, want: &str) -> String {
    let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let (got, want) = (lines(got), lines(want));
    match got.iter().zip(&want).position(|(got, want)| got != want) {
        Some(at) => format!("line {}: got {:?}, expected {:?}", at + 1, got[at], want[at]),
        None => format!("got {} lines, expected {}", got.len(), want.len()),
    }
}

fn records(bytes: &[u8]) -> Vec<csv::ByteRecord> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    reader.byte_records().filter_map(Result::ok).collect()
}

/// Where something expected is not there: a member of an object, or a row of a list. Lists of anything but rows with a name
/// are compared item by item.
fn missing_value(got: &Value, want: &Value, path: &str) -> Option<String> {
    match (got, want) {
        (Value::Dict(got), Value::Dict(want)) => want.iter().find_map(|(key, want)| match got.get(key) {
            Some(got) => missing_value(got, want, &format!("{path}.{key}")),
            None => Some(format!("{path}.{key}: missing")),
        }),
        (Value::List(got), Value::List(want)) => match row_key(got, want) {
            Some(key) => want.iter().find_map(|want| {
                let name = row_name(want, key);
                let path = format!("{path}[{name:?}]");
                // Of equal names the last row counts.
                match got.iter().rfind(|got| row_name(got, key) == name) {
                    Some(got) => missing_value(got, want, &path),
                    None => Some(format!("{path}: missing")),
                }
            }),
            None if got.len() == want.len() => {
                let mut pairs = got.iter().zip(want).enumerate();
                pairs.find_map(|(at, (got, want))| missing_value(got, want, &format!("{path}[{at}]")))
            }
            None => Some(format!("{path}: {} items, expected {}", got.len(), want.len())),
        },
        _ => value_difference(got, want, path),
    }
}

/// The key by which the rows of two lists are found, where all of them have it.
fn row_key(got: &[Value], want: &[Value]) -> Option<&'static str> {
    let has = |row: &Value, key: &str| matches!(row, Value::Dict(members) if members.contains_key(key));
    let keys = ["operation", "layer", "name"];
    let key = keys.into_iter().find(|key| got.iter().chain(want).all(|row| has(row, key)));
    key.filter(|_| !want.is_empty())
}

/// Name of a row, and the trace that it belongs to if it says so.
fn row_name(row: &Value, key: &str) -> (String, Option<String>) {
    match row {
        Value::Dict(members) => {
            let form = |key: &str| members.get(key).map(Value::repr);
            (form(key).unwrap_or_default(), form("trace"))
        }
        _ => (row.repr(), None),
    }
}

fn value_difference(got: &Value, want: &Value, path: &str) -> Option<String> {
    let differ = || Some(format!("{path}: {} != {}", got.repr(), want.repr()));
    match (got, want) {
        (Value::Dict(got_entries), Value::Dict(want_entries)) => {
            let missing: Vec<_> = want_entries.keys().filter(|key| !got_entries.contains_key(*key)).collect();
            let extra: Vec<_> = got_entries.keys().filter(|key| !want_entries.contains_key(*key)).collect();
            if !missing.is_empty() || !extra.is_empty() {
                return Some(format!("{path}: keys differ: missing {missing:?}, extra {extra:?}"));
            }
            want_entries
                .iter()
                .find_map(|(key, want)| value_difference(&got_entries[key], want, &format!("{path}.{key}")))
        }
        (Value::List(got), Value::List(want)) if got.len() == want.len() => {
            let mut pairs = got.iter().zip(want).enumerate();
            pairs.find_map(|(at, (got, want))| value_difference(got, want, &format!("{path}[{at}]")))
        }
        (Value::Int(_) | Value::BigInt(_) | Value::Float(_), Value::Int(_) | Value::BigInt(_) | Value::Float(_)) => {
            let (got, want) = (got.as_double()?, want.as_double()?);
            let tolerance = (1e-9 * got.abs().max(want.abs())).max(1e-12);
            let same = got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= tolerance;
            if same { None } else { differ() }
        }
        _ if got == want => None,
        _ => differ(),
    }
}
