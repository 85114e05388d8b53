//! What the keys of an event and of its `args` name.

use super::event::Field;
use crate::scan::{Key, Kind, Span, TextRule};

/// The members of `args` that the caller asked for.
#[derive(Debug, Clone)]
pub(super) struct WantedArgs<'o> {
    names: &'o [String],
    /// One bit for each pair of length and first byte that a wanted name has, folded to 64: most other names miss it.
    filter: u64,
}

impl<'o> WantedArgs<'o> {
    pub(super) fn new(names: &'o [String]) -> WantedArgs<'o> {
        let filter = names.iter().fold(0, |filter, name| filter | filter_bit(name.as_bytes()));
        WantedArgs { names, filter }
    }

    #[inline(always)]
    pub(super) fn position(&self, key: Key<'_>) -> Option<usize> {
        let raw = key.raw;
        if key.kind != Kind::PlainText {
            return self.position_of_escaped(raw);
        }
        if self.filter & filter_bit(raw) == 0 {
            return None;
        }
        self.names.iter().position(|name| name.as_bytes() == raw)
    }

    #[cold]
    fn position_of_escaped(&self, raw: &[u8]) -> Option<usize> {
        let name = unescaped(raw);
        self.names.iter().position(|wanted| *wanted == name)
    }
}

#[inline(always)]
fn filter_bit(name: &[u8]) -> u64 {
    let first = name.first().copied().unwrap_or_default();
    1 << ((name.len() ^ usize::from(first)) & 63)
}

/// What a key of an event names.
pub(super) enum Named {
    Field(Field),
    Args,
    Other,
}

#[inline(always)]
pub(super) fn named(key: Key<'_>) -> Named {
    if key.kind == Kind::PlainText { named_plainly(key.raw) } else { named_with_escapes(key.raw) }
}

#[cold]
fn named_with_escapes(raw: &[u8]) -> Named {
    named_plainly(unescaped(raw).as_bytes())
}

#[inline(always)]
fn named_plainly(name: &[u8]) -> Named {
    match name.len() {
        2 => match name {
            b"ph" => Named::Field(Field::Phase),
            b"ts" => Named::Field(Field::Timestamp),
            b"id" => Named::Field(Field::Id),
            _ => Named::Other,
        },
        3 => match name {
            b"dur" => Named::Field(Field::Duration),
            b"pid" => Named::Field(Field::Process),
            b"tid" => Named::Field(Field::Thread),
            b"cat" => Named::Field(Field::Category),
            _ => Named::Other,
        },
        4 => match name {
            b"name" => Named::Field(Field::Name),
            b"args" => Named::Args,
            _ => Named::Other,
        },
        _ => Named::Other,
    }
}

fn unescaped(raw: &[u8]) -> String {
    let key = Span { start: 0, end: raw.len(), kind: Kind::EscapedText };
    let text = key.of(raw, TextRule::Replace).and_then(|key| key.as_text());
    text.map_or(String::new(), |text| text.decode_lossy().into_owned())
}
