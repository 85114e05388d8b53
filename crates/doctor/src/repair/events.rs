//! Fixing events one by one.

use std::hash::{BuildHasher, Hasher};

use perfdb_trace::scan::{Scanner, TextRule, Value};
use perfdb_trace::time::picoseconds;
use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::report::Kind;

/// What was fixed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fixed {
    pub(super) text_times: u64,
    pub(super) old_categories: u64,
    pub(super) copies: u64,
}

/// Fixes events.
pub(super) struct EventFixer {
    kind: Kind,
    fixed: Fixed,
    /// Two hashes of each device row so far.
    rows: FxHashSet<(u64, u64)>,
}

/// Categories of old profilers and what they are called now.
const CATEGORIES: [(&str, &str); 6] = [
    ("Kernel", "kernel"),
    ("Memcpy", "gpu_memcpy"),
    ("Memset", "gpu_memset"),
    ("Operator", "cpu_op"),
    ("Runtime", "cuda_runtime"),
    ("async", "ac2g"),
];

/// Where the values of an event stand that matter here.
#[derive(Default)]
struct Places<'e> {
    name: Option<Value<'e>>,
    category: Option<(usize, usize)>,
    timestamp: Option<(usize, usize)>,
    start: Option<Value<'e>>,
    duration: Option<Value<'e>>,
    args: Option<Value<'e>>,
}

impl EventFixer {
    pub(super) fn new(kind: Kind) -> EventFixer {
        EventFixer { kind, fixed: Fixed::default(), rows: FxHashSet::default() }
    }

    pub(super) fn counts(&self) -> Fixed {
        self.fixed
    }

    /// Fixes an event; false if it is to be left out.
    pub(super) fn fix(&mut self, event: &mut Vec<u8>) -> bool {
        let Some(places) = places(event) else { return true };
        let mut category = places.category.map(|(from, to)| event[from..to].to_vec()).unwrap_or_default();
        let renamed = CATEGORIES.iter().find(|(old, _)| category == format!("\"{old}\"").as_bytes());
        let renamed = renamed.filter(|_| self.kind == Kind::GpuTrace).map(|(_, new)| format!("\"{new}\"").into_bytes());
        if let Some(renamed) = &renamed {
            category.clone_from(renamed);
        }
        let time = places.timestamp.and_then(|(from, to)| plain_decimal(&event[from..to]));
        if let b"\"kernel\"" | b"\"gpu_memcpy\"" | b"\"gpu_memset\"" = &category[..]
            && self.kind == Kind::GpuTrace
            && let Some(row) = row_hashes(&places)
            && !self.rows.insert(row)
        {
            self.fixed.copies += 1;
            return false;
        }
        let mut changes: Vec<((usize, usize), Vec<u8>)> = Vec::new();
        if let (Some(place), Some(renamed)) = (places.category, renamed) {
            self.fixed.old_categories += 1;
            changes.push((place, renamed));
        }
        if let (Some(place), Some(time)) = (places.timestamp, time) {
            self.fixed.text_times += 1;
            changes.push((place, time));
        }
        // The later one first, so that the other one's place holds.
        changes.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
        for ((from, to), with) in changes {
            event.splice(from..to, with);
        }
        true
    }
}

/// The number in a text, quotes included, if it is a plain decimal that JSON takes.
fn plain_decimal(text: &[u8]) -> Option<Vec<u8>> {
    let number = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?.trim_ascii();
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let (whole, part) = match digits.iter().position(|byte| *byte == b'.') {
        Some(point) => (&digits[..point], Some(&digits[point + 1..])),
        None => (digits, None),
    };
    let all_digits = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let plain = all_digits(whole) && part.is_none_or(all_digits) && (whole.len() == 1 || whole[0] != b'0');
    plain.then(|| number.to_vec())
}

fn places(event: &[u8]) -> Option<Places<'_>> {
    let mut scanner = Scanner::new(event, TextRule::Replace);
    scanner.enter_object().ok()?;
    let mut places = Places::default();
    let mut first = true;
    while let Some(key) = scanner.next_key(&mut first).ok()? {
        let from = scanner.position();
        let value = scanner.value().ok()?;
        let place = (from, scanner.position());
        if key.is("cat") {
            places.category = value.as_text().map(|_| place);
        } else if key.is("ts") {
            places.timestamp = value.as_text().map(|_| place);
            places.start = Some(value);
        } else if key.is("dur") {
            places.duration = Some(value);
        } else if key.is("name") {
            places.name = Some(value);
        } else if key.is("args") {
            places.args = Some(value);
        }
    }
    Some(places)
}

/// What identifies a device row: start, duration, name, device, stream, correlation. `None` for rows that do not count.
fn row_hashes(places: &Places<'_>) -> Option<(u64, u64)> {
    let name = places.name?.as_text()?;
    let start = picoseconds(places.start?.as_number()?.raw())?;
    let duration = match places.duration {
        None | Some(Value::Null) => 0,
        Some(value) => picoseconds(value.as_number()?.raw()).filter(|duration| *duration >= 0)?,
    };
    let mut args = [String::from("0"), String::new(), String::new()];
    if let Some(Value::Object(raw)) = places.args {
        let mut scanner = Scanner::new(raw.text(), TextRule::Replace);
        scanner.enter_object().ok()?;
        let mut first = true;
        while let Some(key) = scanner.next_key(&mut first).ok()? {
            let value = scanner.value().ok()?;
            let wanted = ["device", "stream", "correlation"].iter().position(|name| key.is(name));
            if let Some(wanted) = wanted {
                args[wanted] = match value {
                    Value::Number(number) => number.text().to_owned(),
                    Value::Text(text) => format!("\"{}", text.decode_lossy()),
                    _ => String::new(),
                };
            }
        }
    }
    let hash = |seed: u64| {
        let mut hasher = FxBuildHasher.build_hasher();
        hasher.write_u64(seed);
        hasher.write_i128(start);
        hasher.write_i128(duration);
        for text in [&*name.decode_lossy(), &args[0], &args[1], &args[2]] {
            hasher.write(text.as_bytes());
            hasher.write_u8(0xff);
        }
        hasher.finish()
    };
    Some((hash(0), hash(0x5851_f42d_4c95_7f2d)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(fixer: &mut EventFixer, event: &str) -> Option<String> {
        let mut bytes = event.as_bytes().to_vec();
        fixer.fix(&mut bytes).then(|| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn events_are_mended_and_copies_dropped() {
        let mut fixer = EventFixer::new(Kind::GpuTrace);
        let kernel = r#"{"cat":"kernel","name":"k","ts":1.50,"dur":2,"args":{"stream":7,"x":[1]}}"#;
        assert_eq!(fix(&mut fixer, kernel).as_deref(), Some(kernel));
        assert_eq!(fix(&mut fixer, r#"{"ts":1.5,"dur":2.0,"name":"k","cat":"Kernel","args":{"stream":7}}"#), None);
        assert_eq!(
            fix(&mut fixer, r#"{"ts" : "12.500", "cat" : "Runtime"}"#).as_deref(),
            Some(r#"{"ts" : 12.500, "cat" : "cuda_runtime"}"#)
        );
        assert_eq!((fixer.fixed.text_times, fixer.fixed.old_categories, fixer.fixed.copies), (1, 1, 1));
    }

    #[test]
    fn only_plain_decimals_become_numbers() {
        assert_eq!(plain_decimal(b"\"-0.5\""), Some(b"-0.5".to_vec()));
        for text in ["\"\"", "\"1e3\"", "\"01\"", "\"1.\"", "\".5\"", "\"x\""] {
            assert_eq!(plain_decimal(text.as_bytes()), None, "{text}");
        }
    }
}
