//! The number of forward passes from an M6 file.

use crate::error::Error;
use perfdb_trace::json;
use perfdb_trace::scan::{Scanner, TextRule, Value};
use perfdb_trace::source::Source;
use std::path::Path;

/// `n_forward_passes`, 1 if the file does not say.
///
/// # Errors
/// When the file can't be read, is not a JSON object, or the number is none.
pub(super) fn read_forward_passes(path: &Path) -> Result<f64, Error> {
    let text = Source::open(path)?.read_all()?;
    forward_passes(&text).map_err(|reason| Error::M6File { path: path.to_owned(), reason })
}

/// Looks at the one member that counts: the texts of the others may hold what is no text.
fn forward_passes(text: &[u8]) -> Result<f64, String> {
    let mut scanner = Scanner::new(text, TextRule::Strict);
    let document = scanner.value().and_then(|value| scanner.finish().map(|()| value)).map_err(|fault| {
        // Reading the whole document again gives the line and the column.
        json::parse(text).map_or_else(|error| error.to_string(), |_| fault.to_string())
    })?;
    let Value::Object(members) = document else { return Err("the top level is not an object".to_owned()) };
    let mut scanner = Scanner::new(members.text(), TextRule::Strict);
    let mut passes = None;
    let mut first = true;
    scanner.enter_object().map_err(|fault| fault.to_string())?;
    while let Some(key) = scanner.next_key(&mut first).map_err(|fault| fault.to_string())? {
        let value = scanner.value().map_err(|fault| fault.to_string())?;
        if key.is("n_forward_passes") {
            passes = Some(value);
        }
    }
    match passes {
        None => Ok(1.0),
        Some(Value::Number(number)) => number.to_addend().ok_or_else(|| "n_forward_passes is too large".to_owned()),
        Some(Value::Bool(value)) => Ok(f64::from(u8::from(value))),
        Some(_) => Err("n_forward_passes is not a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_booleans_and_nothing() {
        for (text, passes) in [
            ("{}", 1.0),
            (r#"{"m6_ratio": NaN, "n_forward_passes": 2.5}"#, 2.5),
            (r#"{"n_forward_passes": "x", "n_forward_passes": -3}"#, -3.0),
            (r#"{"n_forward_passes": true}"#, 1.0),
            (r#"{"tc_trace": "\ud83d", "n_forward_passes": 0}"#, 0.0),
        ] {
            assert_eq!(forward_passes(text.as_bytes()), Ok(passes), "{text}");
        }
    }

    #[test]
    fn faults() {
        for (text, part) in [
            ("[]", "not an object"),
            (r#"{"n_forward_passes": null}"#, "not a number"),
            (r#"{"n_forward_passes": "2"}"#, "not a number"),
            ("{\n\"a\": x}", "line 2, column 6"),
            ("", "byte 0"),
        ] {
            let reason = forward_passes(text.as_bytes()).unwrap_err();
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }
}
