//! A quick look at the text of events for what a reader of values does not see.
//!
//! A key that stands twice in an object, a word such as `NaN`, bytes that are not UTF-8: a reader takes the last value, a
//! number, a replacement character. Here it is only found whether there is any of that: the reader gives the form of each
//! event, and only forms that are new, and events with more in them than plain values, are passed over once more. Who needs
//! to know what and where reads the file with [`Mender`](crate::json::Mender).

use perfdb_trace::chrome::Event;
use rustc_hash::FxHashSet;

/// Forms that are looked up first.
const RECENT: usize = 64;

/// Whether something was seen, and the forms of objects that are known to be good.
#[derive(Debug)]
pub(crate) struct Lint {
    suspicious: bool,
    /// Numbers of the keys of whole events, in order and with their nesting.
    good: FxHashSet<u64>,
    recent: [u64; RECENT],
}

impl Default for Lint {
    fn default() -> Lint {
        Lint { suspicious: false, good: FxHashSet::default(), recent: [0; RECENT] }
    }
}

/// Mixes one key into the hash of an event's keys.
#[inline(always)]
fn mix(hash: u64, key: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let word = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut hash = (hash ^ key.len() as u64).wrapping_mul(FACTOR);
    if key.len() < 8 {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(key) {
            *to = *from;
        }
        return (hash.rotate_left(23) ^ u64::from_le_bytes(bytes)).wrapping_mul(FACTOR);
    }
    let mut rest = key;
    while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(*chunk)).wrapping_mul(FACTOR);
        rest = behind;
    }
    (hash.rotate_left(23) ^ word(key.last_chunk::<8>())).wrapping_mul(FACTOR)
}

impl Lint {
    /// Looks at an event.
    #[inline]
    pub(crate) fn look_at_event(&mut self, event: &Event<'_>) {
        let form = event.form();
        if form.is_odd() || !(form.is_ascii() || is_ascii(event.raw())) {
            self.look_at(event.raw());
            return;
        }
        // The lowest bit separates these from the hashes of `look_at`.
        let keys = form.keys() | 1;
        let place = (keys >> 58) as usize % RECENT;
        if self.recent[place] != keys && !self.good.contains(&keys) {
            if has_repeated_key(event.raw()) {
                self.suspicious = true;
                return;
            }
            self.good.insert(keys);
        }
        self.recent[place] = keys;
    }

    /// Looks at a valid JSON object.
    #[inline]
    pub(crate) fn look_at(&mut self, object: &[u8]) {
        if self.suspicious {
            return;
        }
        if !object.is_ascii() && std::str::from_utf8(object).is_err() {
            self.suspicious = true;
            return;
        }
        let Some(keys) = keys_of(object) else {
            self.suspicious = true;
            return;
        };
        let keys = keys & !1;
        if !self.good.contains(&keys) {
            if has_repeated_key(object) {
                self.suspicious = true;
                return;
            }
            self.good.insert(keys);
        }
    }

    /// Looks at any valid JSON value.
    pub(crate) fn look_at_value(&mut self, value: &[u8]) {
        match value.first() {
            Some(b'{') => self.look_at(value),
            // A list is looked at as the only member of an object.
            _ => self.look_at(&[b"{\"\":", value, b"}"].concat()),
        }
    }

    pub(crate) fn join(&mut self, other: Lint) {
        self.suspicious |= other.suspicious;
    }

    pub(crate) fn is_suspicious(&self) -> bool {
        self.suspicious
    }

    pub(crate) fn suspect(&mut self) {
        self.suspicious = true;
    }
}

/// Whether all bytes are ASCII, for texts of a few hundred bytes.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let Some(last) = bytes.last_chunk() else { return bytes.is_ascii() };
    // The last word may have bytes of the one before it once more.
    let words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
    words.fold(u64::from_le_bytes(*last), |all, word| all | word) & HIGH_BITS == 0
}

/// A hash of the keys of an object and of those inside it; `None` where a word stands that is no JSON.
#[inline]
fn keys_of(object: &[u8]) -> Option<u64> {
    let mut hash = 0_u64;
    let mut rest = object;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'"' => {
                let (text, behind) = rest.split_at_checked(text_length(rest))?;
                rest = behind.get(1..)?;
                let after = match rest {
                    [..=b' ', ..] => rest.trim_ascii_start(),
                    _ => rest,
                };
                if let [b':', more @ ..] = after {
                    hash = mix(hash, text);
                    rest = more;
                }
            }
            b'{' | b'}' => hash = hash.rotate_left(5).wrapping_add(u64::from(*byte)),
            b'N' | b'I' => return None,
            _ => {}
        }
    }
    Some(hash)
}

/// Length of the text whose opening quote has been taken.
#[inline(always)]
fn text_length(rest: &[u8]) -> usize {
    let mut at = 0;
    // Most texts are short.
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
        if at >= 24 {
            return long_text_length(rest, at);
        }
    }
    rest.len()
}

fn long_text_length(rest: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(stop) = rest.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += stop;
        if rest.get(at) == Some(&b'"') {
            return at;
        }
        at += 2;
    }
    rest.len()
}

/// Whether any object in a valid one has a key twice, by what stands between the quotes; escaped keys count as repeated,
/// so that someone looks closer.
fn has_repeated_key(object: &[u8]) -> bool {
    let mut open: Vec<Vec<&[u8]>> = Vec::new();
    // Most objects have a few keys. Those of more are sorted, so that a hostile one takes no time beyond its size.
    let is_repeated = |keys: &mut Vec<&[u8]>| {
        keys.sort_unstable();
        keys.windows(2).any(|pair| pair[0] == pair[1])
    };
    let mut at = 0;
    while let Some(byte) = object.get(at) {
        at += 1;
        match byte {
            b'{' => open.push(Vec::new()),
            b'}' if open.pop().is_some_and(|mut keys| is_repeated(&mut keys)) => return true,
            b'"' => {
                let rest = object.get(at..).unwrap_or_default();
                let length = text_length(rest);
                let text = rest.get(..length).unwrap_or_default();
                at += length + 1;
                let after = object.get(at..).unwrap_or_default();
                if after.trim_ascii_start().first() == Some(&b':')
                    && let Some(keys) = open.last_mut()
                {
                    if text.contains(&b'\\') {
                        return true;
                    }
                    keys.push(text);
                }
            }
            _ => {}
        }
    }
    open.iter_mut().any(is_repeated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspicious(text: &str) -> bool {
        let mut lint = Lint::default();
        // A second look must say the same.
        lint.look_at(text.as_bytes());
        let first = lint.is_suspicious();
        lint.look_at(text.as_bytes());
        assert_eq!(lint.is_suspicious(), first);
        first
    }

    #[test]
    fn repeated_keys_and_words_are_seen() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"b":{"c":1,"d":2,"c":3}}"#,
            r#"{"l":[{"x":1},{"x":1,"x":2}]}"#,
            r#"{"a":NaN}"#,
            r#"{"a":[1,-Infinity]}"#,
            "{\"a long key of more than sixteen bytes\" :1,\"a long key of more than sixteen bytes\" :1}",
        ] {
            assert!(suspicious(text), "{text}");
        }
        for text in [
            r#"{"a":1,"b":{"a":2,"b":3}}"#,
            r#"{"l":[{"x":1},{"x":2}]}"#,
            r#"{"a":"NaN","b":"Infinity"}"#,
            r#"{"a":"\\\"","b":"{\"b\":1}"}"#,
            "{\"name\":\"é\"}",
        ] {
            assert!(!suspicious(text), "{text}");
        }
    }

    #[test]
    fn an_object_of_many_keys_takes_time_in_proportion() {
        let object = |count: usize, last: &str| {
            let keys: Vec<String> = (0..count).map(|key| format!("\"{key:07}\":1")).collect();
            format!("{{\"args\":{{{}{last}}}}}", keys.join(","))
        };
        // A look at each pair of keys would take minutes.
        assert!(!suspicious(&object(300_000, "")));
        assert!(suspicious(&object(300_000, ",\"0000007\":2")));
    }

    #[test]
    fn bytes_that_are_no_text_are_seen() {
        let mut lint = Lint::default();
        lint.look_at(b"{\"a\":\"\xe2\x82\"}");
        assert!(lint.is_suspicious());
    }

    #[test]
    fn every_byte_counts() {
        for length in 0..70 {
            let mut bytes = vec![b'a'; length];
            assert!(is_ascii(&bytes));
            for at in 0..length {
                bytes[at] = 0x80;
                assert!(!is_ascii(&bytes), "{at} of {length}");
                bytes[at] = b'a';
            }
        }
    }

    #[test]
    fn forms_that_are_good_do_not_hide_others() {
        let mut lint = Lint::default();
        for text in [r#"{"ab":1,"c":2}"#, r#"{"a":1,"bc":2}"#, r#"{"c":1,"ab":{"c":2}}"#] {
            lint.look_at(text.as_bytes());
        }
        assert!(!lint.is_suspicious());
        lint.look_at(br#"{"ab":1,"ab":2}"#);
        assert!(lint.is_suspicious());
    }

    #[test]
    fn values_of_every_kind() {
        let mut lint = Lint::default();
        for value in ["1", "\"x\"", "[1, {\"a\":2}]", "null"] {
            lint.look_at_value(value.as_bytes());
        }
        assert!(!lint.is_suspicious());
        lint.look_at_value(b"[NaN]");
        assert!(lint.is_suspicious());
    }
}
