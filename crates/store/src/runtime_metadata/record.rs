//! One record of the JSON lines.

use crate::columns::{self, RUNTIME_LENGTHS, RUNTIME_SETTINGS, RUNTIME_VALID_BLOCKS};
use num_bigint::BigInt;
use perfdb_pycompat::format::fixed;
use perfdb_pycompat::value::Value;
use perfdb_trace::source::LARGEST_VALUE_BYTES;
use std::io::{self, BufRead, Read};

/// A shape as both sides write it; `None` where there is none.
pub(super) type Shape = Option<Vec<BigInt>>;

/// What a row and a record have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) query: Shape,
    pub(super) key: Shape,
    pub(super) value: Shape,
    /// Number of key-value lengths.
    pub(super) kv_lengths: Option<BigInt>,
    pub(super) mask: Shape,
    pub(super) block_table: Shape,
}

/// The columns that a record fills, in the order in which missing ones are appended.
pub(super) const FILLED: [&str; 11] = columns::joined(&[&RUNTIME_LENGTHS, &[RUNTIME_VALID_BLOCKS], &RUNTIME_SETTINGS]);

/// The texts for [`FILLED`].
pub(super) type Payload = [String; FILLED.len()];

/// Reads a record; the error names the member.
pub(super) fn read(line: &[u8]) -> Result<(Key, Payload), String> {
    let value = perfdb_trace::json::parse(line).map_err(|error| format!("not valid JSON: {error}"))?;
    let Value::Dict(members) = value else { return Err("not a JSON object".to_owned()) };
    for (name, value) in &members {
        if !is_finite(value) {
            return Err(format!("{}: NaN and Infinity are not values", perfdb_files::escape::excerpt(name)));
        }
    }
    let list = |name: &str| integers(members.get(name)).map_err(|reason| format!("{name}: {reason}"));
    let scalar = |name: &str| scalar_text(members.get(name)).map_err(|reason| format!("{name}: {reason}"));
    let lengths = list("actual_seq_lengths")?;
    let kv_lengths = list("actual_seq_lengths_kv")?;
    let key = Key {
        query: list("query_shape")?,
        key: list("key_shape")?,
        value: list("value_shape")?,
        kv_lengths: kv_lengths.as_ref().map(|lengths| BigInt::from(lengths.len())),
        mask: list("atten_mask_shape")?,
        block_table: list("block_table_shape")?,
    };
    let payload = [
        count(&lengths),
        joined(&lengths),
        count(&kv_lengths),
        joined(&kv_lengths),
        mean(members.get("actual_seq_lengths_kv"), &kv_lengths),
        joined(&list("block_table_valid_blocks")?),
        scalar("num_heads")?,
        scalar("num_key_value_heads")?,
        scalar("sparse_mode")?,
        scalar("input_layout")?,
        scalar("block_size")?,
    ];
    Ok((key, payload))
}

fn is_finite(value: &Value) -> bool {
    match value {
        Value::Float(number) => number.is_finite(),
        Value::List(values) | Value::Tuple(values) => values.iter().all(is_finite),
        Value::Dict(members) => members.values().all(is_finite),
        _ => true,
    }
}

fn integers(value: Option<&Value>) -> Result<Shape, String> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(Value::List(values)) => values.iter().map(integer).collect::<Result<Vec<_>, _>>().map(Some),
        Some(_) => Err("not a list of integers".to_owned()),
    }
}

/// A member of a list, truncated as `int()` does.
fn integer(value: &Value) -> Result<BigInt, String> {
    let refused = || Err("not a list of integers".to_owned());
    match value {
        Value::Int(number) => Ok(BigInt::from(*number)),
        Value::BigInt(number) => Ok(number.clone()),
        Value::Bool(truth) => Ok(BigInt::from(i32::from(*truth))),
        // The text of a whole double is all of its digits.
        Value::Float(number) => fixed(number.trunc(), 0).parse().or_else(|_| refused()),
        Value::Text(text) => big_integer(text).map_or_else(refused, Ok),
        _ => refused(),
    }
}

/// An integer text as Python's `int()` reads it.
pub(super) fn big_integer(text: &str) -> Option<BigInt> {
    let text = perfdb_pycompat::text::trim(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let bytes = digits.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let fits = |at: usize| is_digit(at) || (bytes[at] == b'_' && at > 0 && is_digit(at - 1) && is_digit(at + 1));
    let is_integer = !bytes.is_empty() && (0..bytes.len()).all(fits);
    if is_integer { text.replace('_', "").parse().ok() } else { None }
}

fn scalar_text(value: Option<&Value>) -> Result<String, String> {
    match value {
        None | Some(Value::None) => Ok(String::new()),
        Some(Value::List(_) | Value::Tuple(_) | Value::Dict(_)) => Err("not a number or text".to_owned()),
        Some(value) => Ok(value.str()),
    }
}

fn count(list: &Shape) -> String {
    match list.as_deref() {
        None | Some([]) => String::new(),
        Some(values) => values.len().to_string(),
    }
}

fn joined(list: &Shape) -> String {
    list.iter().flatten().map(BigInt::to_string).collect::<Vec<_>>().join(",")
}

/// The mean of the numbers as recorded, fractions included, with six decimals; `cut` are the same numbers as integers.
fn mean(recorded: Option<&Value>, cut: &Shape) -> String {
    let (Some(Value::List(recorded)), Some(cut)) = (recorded, cut) else { return String::new() };
    if cut.is_empty() {
        return String::new();
    }
    let mut sum = BinaryFraction::default();
    for (recorded, cut) in recorded.iter().zip(cut) {
        match recorded {
            Value::Float(number) => sum.add(&BinaryFraction::of(*number)),
            _ => sum.add(&BinaryFraction { numerator: cut.clone(), places: 0 }),
        }
    }
    fixed(sum.divided_by(cut.len()), 6)
}

/// `numerator` / 2^`places`: what a sum of doubles is exactly.
#[derive(Debug, Default)]
struct BinaryFraction {
    numerator: BigInt,
    places: u64,
}

impl BinaryFraction {
    /// A finite double.
    fn of(number: f64) -> BinaryFraction {
        let bits = number.to_bits();
        let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        // Subnormal numbers have no implicit bit, and the exponent of the smallest normal ones.
        let significand = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let exponent = exponent.max(1);
        let magnitude = BigInt::from(significand) << exponent.saturating_sub(1075);
        let numerator = if number.is_sign_negative() { -magnitude } else { magnitude };
        BinaryFraction { numerator, places: 1075_u64.saturating_sub(exponent) }
    }

    fn add(&mut self, other: &BinaryFraction) {
        let places = self.places.max(other.places);
        self.numerator = (&self.numerator << (places - self.places)) + (&other.numerator << (places - other.places));
        self.places = places;
    }

    /// The double nearest to the quotient.
    fn divided_by(&self, count: usize) -> f64 {
        let divisor = BigInt::from(count) << self.places;
        // So many digits of the quotient that a last one, set for any remainder, decides how it is rounded.
        let shift = (66 + divisor.bits()).saturating_sub(self.numerator.bits());
        let dividend = &self.numerator << shift;
        let mut quotient = &dividend / &divisor;
        if &quotient * &divisor != dividend {
            quotient |= BigInt::from(1);
        }
        let nearest: f64 = quotient.to_string().parse().unwrap_or(f64::NAN);
        let half = shift / 2;
        nearest * 0.5_f64.powi(half as i32) * 0.5_f64.powi((shift - half) as i32)
    }
}

/// Calls `each` with the number and text of every line; lines end at LF, CRLF or CR.
pub(super) fn for_each_line<E>(
    mut input: impl BufRead,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E>
where
    E: From<io::Error>,
{
    let mut number = 0;
    let mut buffer = Vec::new();
    while {
        buffer.clear();
        (&mut input).take(LARGEST_VALUE_BYTES as u64 + 1).read_until(b'\n', &mut buffer)? > 0
    } {
        if buffer.len() > LARGEST_VALUE_BYTES {
            let reason = format!("line {} is longer than {} MiB", number + 1, LARGEST_VALUE_BYTES >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason).into());
        }
        let text = buffer.strip_suffix(b"\n").unwrap_or(&buffer);
        let text = text.strip_suffix(b"\r").filter(|_| text.len() < buffer.len()).unwrap_or(text);
        for line in text.split(|&byte| byte == b'\r') {
            number += 1;
            each(number, line)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_texts() -> Result<(), String> {
        let line = br#"{"query_shape": ["2", 16.9, true], "actual_seq_lengths_kv": [1, 2, 2], "num_heads": 16.0, "sparse_mode": true,
            "block_size": 1e22, "input_layout": "TND", "other": [{}]}"#;
        let (key, payload) = read(line)?;
        assert_eq!(key.query, Some(vec![2.into(), 16.into(), 1.into()]));
        assert_eq!(key.kv_lengths, Some(3.into()));
        assert_eq!(
            payload,
            ["", "", "3", "1,2,2", "1.666667", "", "16.0", "", "True", "TND", "1e+22"].map(str::to_owned)
        );
        Ok(())
    }

    #[test]
    fn the_mean_of_lengths_is_taken_before_they_are_cut() -> Result<(), String> {
        let cells = |list: &str| {
            let line = format!("{{\"actual_seq_lengths_kv\": {list}}}");
            read(line.as_bytes()).map(|(_, payload)| (payload[3].clone(), payload[4].clone()))
        };
        let expected = |values: &str, mean: &str| (values.to_owned(), mean.to_owned());
        assert_eq!(cells("[10.5, 11]")?, expected("10,11", "10.750000"));
        assert_eq!(cells("[10.0, 20.5]")?, expected("10,20", "15.250000"));
        assert_eq!(cells("[true, \"7\", -0.5]")?, expected("1,7,0", "2.500000"));
        assert_eq!(cells("[0.1, 0.2]")?, expected("0,0", "0.150000"));
        // A sum of doubles would lose the small one.
        assert_eq!(cells("[1e17, 1, -1e17]")?, expected("100000000000000000,1,-100000000000000000", "0.333333"));
        assert_eq!(cells("[5e-324, 1e308]")?.1.len(), 315);
        assert_eq!(cells("[-3, -4]")?, expected("-3,-4", "-3.500000"));
        assert_eq!(cells("[]")?, expected("", ""));
        Ok(())
    }

    #[test]
    fn what_is_wrong_names_the_member() {
        let wrong = |line: &str| read(line.as_bytes()).err().unwrap_or_default();
        assert_eq!(wrong(r#"{"query_shape": "12"}"#), "query_shape: not a list of integers");
        assert_eq!(wrong(r#"{"key_shape": ["1.5"]}"#), "key_shape: not a list of integers");
        assert_eq!(wrong(r#"{"num_heads": {}}"#), "num_heads: not a number or text");
        assert_eq!(wrong(r#"{"x": [NaN]}"#), "x: NaN and Infinity are not values");
        assert_eq!(wrong("[]"), "not a JSON object");
    }

    #[test]
    fn every_kind_of_line_end_counts_once() -> io::Result<()> {
        let mut lines = Vec::new();
        for_each_line(&b"a\r\nb\rc\n\nd\r"[..], |number, line| {
            lines.push((number, String::from_utf8_lossy(line).into_owned()));
            io::Result::Ok(())
        })?;
        let expected = [(1, "a"), (2, "b"), (3, "c"), (4, ""), (5, "d"), (6, "")];
        assert_eq!(lines, expected.map(|(number, line)| (number, line.to_owned())));
        Ok(())
    }
}
