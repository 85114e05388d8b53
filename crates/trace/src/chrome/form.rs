//! The form of an event: which keys it has, and whether there is more in it than plain values.

use crate::scan::{Key, Kind, Span, has_any_of};

/// The keys of an event as one number, and whether a closer look at its text is due.
///
/// Two events with the same keys in the same order, in `args` too, have the same form; others have different ones but for
/// a chance of one in 2⁶⁴. Who wants to know something that depends on the keys alone, for example whether one stands there twice,
/// needs to look at each form once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub(super) hash: u64,
    pub(super) odd: bool,
    pub(super) ascii: bool,
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Form {
    pub(super) const NEW: Form = Form { hash: FACTOR, odd: false, ascii: false };

    /// The form where nobody asked for it.
    pub(super) const UNKNOWN: Form = Form { hash: 0, odd: true, ascii: false };

    /// The keys as one number.
    pub fn keys(self) -> u64 {
        self.hash
    }

    /// Whether keys or values are there that the number does not cover: objects besides `args`, lists that may hold objects
    /// or words such as `NaN`, such words themselves, and keys with escapes.
    pub fn is_odd(self) -> bool {
        self.odd
    }

    /// Whether the whole event is known to be ASCII. It may well be where this is false.
    pub fn is_ascii(self) -> bool {
        self.ascii
    }

    #[inline(always)]
    fn add(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }

    /// Takes a key.
    ///
    /// A key of up to eight bytes, none of which is 0, is one word. Longer ones begin with a word that no such key has: their
    /// length and a bit. So no two rows of keys give the same words.
    #[inline(always)]
    pub(super) fn key(&mut self, key: Key<'_>) {
        self.odd |= key.kind != Kind::PlainText;
        match key.inside.first_chunk::<8>() {
            Some(first) if key.raw.len().wrapping_sub(1) < 8 => {
                // Shifting leaves out what stands behind the key.
                let behind = 64 - 8 * key.raw.len() as u32;
                self.add(u64::from_le_bytes(*first) << behind >> behind);
            }
            _ => self.other_key(key.raw),
        }
    }

    #[inline]
    fn other_key(&mut self, raw: &[u8]) {
        let Some(last) = raw.last_chunk::<8>() else {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(raw) {
                *to = *from;
            }
            return self.add(u64::from_le_bytes(word));
        };
        if raw.len() > 8 {
            self.add(raw.len() as u64 | 1 << 63);
            // The last word may have bytes of the one before it once more.
            for chunk in raw[..raw.len() - 1].as_chunks::<8>().0 {
                self.add(u64::from_le_bytes(*chunk));
            }
        }
        self.add(u64::from_le_bytes(*last));
    }

    /// Takes the value of a key.
    #[inline(always)]
    pub(super) fn value(&mut self, bytes: &[u8], span: Span) {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        match span.kind {
            Kind::Real => self.odd |= !digit(span.start) && !digit(span.start + 1),
            Kind::Object => {
                self.odd = true;
                self.ascii = false;
            }
            Kind::List => {
                let list = bytes.get(span.start..span.end).unwrap_or_default();
                self.odd |= has_any_of(bytes, span.start..span.end, [b'{', b'N', b'I']);
                self.ascii = self.ascii && list.is_ascii();
            }
            Kind::PlainText | Kind::EscapedText => self.ascii = false,
            _ => {}
        }
    }

    /// Where `args` begin and end.
    #[inline(always)]
    pub(super) fn bracket(&mut self) {
        self.add(1);
    }
}

#[cfg(test)]
mod tests {
    use crate::chrome::{Item, ReadOptions, Reader};
    use crate::source::Source;

    /// Keys and oddness of each event of a list.
    fn forms(events: &str) -> Vec<(u64, bool)> {
        let mut source = Source::from_bytes("t.json", events).expect("in memory");
        let options = ReadOptions::profiler().with_forms();
        let mut reader = Reader::new(&mut source, &options);
        let mut forms = Vec::new();
        while let Some(item) = reader.next_item().expect("JSON") {
            if let Item::Event(event) = item {
                forms.push((event.form().keys(), event.form().is_odd()));
            }
        }
        forms
    }

    #[test]
    fn equal_keys_have_equal_forms_and_others_do_not() {
        let keys: Vec<u64> = forms(
            r#"[{"a":1,"long key of several words":"x","args":{"b":2}}, {"a":7,"long key of several words":[1],"args":{"b":"y"}},
                {"a":1,"long key of several word":1,"args":{"b":2}}, {"a":1,"args":{"b":2}}, {"a":1,"b":2,"args":{}},
                {"a":1,"a":2}, {"aa":1}, {"a":1}, {"":1}, {}, {"args":{"a":1}}, {"12345678":1}, {"123456789":1},
                {"1234567":1}, {"12345678":1,"9":1}, {"1234567812345678":1}, {"12345678":1,"12345678":1}, {"12345678123456781":1}]"#,
        )
        .into_iter()
        .map(|(keys, _)| keys)
        .collect();
        assert_eq!(keys[0], keys[1]);
        let mut others = keys[1..].to_vec();
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), keys.len() - 1);
    }

    #[test]
    fn spaces_between_keys_change_nothing() {
        let keys = |events: &str| forms(events).into_iter().map(|(keys, _)| keys).collect::<Vec<u64>>();
        let dense = keys(r#"[{"ab":1,"cd":{},"args":{"ef":1,"gh":2}},{"ab":1,"ab":{},"args":{"ef":1,"ef":2}}]"#);
        let spaced = keys(
            "[{\n  \"ab\" : 1,\n  \"cd\" : {},\n  \"args\" : {\n    \"ef\": 1,\n    \"gh\": 2\n  }\n},
              {\n  \"ab\" : 1,\n  \"ab\" : {},\n  \"args\" : {\n    \"ef\": 1,\n    \"ef\": 2\n  }\n}]",
        );
        assert_eq!(dense, spaced);
        assert_ne!(dense[0], dense[1]);
    }

    #[test]
    fn what_the_keys_do_not_tell_is_odd() {
        let odd = r#"[{"a":NaN},{"a":-Infinity},{"a":{}},{"a":[{}]},{"a":[1,NaN]},{"\u0061":1},{"args":{"b":{"c":1}}},{"args":[{}]}]"#;
        assert!(forms(odd).iter().all(|(_, odd)| *odd));
        let plain = r#"[{"a":-1.5},{"a":1e3},{"a":"NaN {"},{"a":[1,[2]]},{"args":{"b":[]}},{"args":null},{"a":-0.5}]"#;
        assert!(forms(plain).iter().all(|(_, odd)| !odd));
    }
}
