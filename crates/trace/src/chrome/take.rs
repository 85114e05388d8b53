//! Taking one event: notes where its fields and the wanted members of its `args` stand, and passes over the rest.

use super::event::{CATEGORY, DURATION, ID, NAME, PHASE, PROCESS, Record, THREAD, TIMESTAMP};
use super::seen::{Known, tag_of};
use crate::scan::{Behind, Fast, Key, Kind, Span, TextRule};

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
    fn position(&self, fast: Fast<'_>, key: Span) -> Option<usize> {
        let raw = fast.raw(key);
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

/// Takes the event whose `{` stands at `start`; the position behind it, or `None` where it is cut or no JSON.
#[inline]
pub(super) fn take_event(fast: Fast<'_>, start: usize, wanted: &WantedArgs<'_>, record: &mut Record) -> Option<usize> {
    let mut at = fast.space(start + 1);
    if fast.byte(at)? == b'}' {
        return Some(at + 1);
    }
    loop {
        let key = fast.key(at)?;
        at = match field(fast, key) {
            Field::Known(field) => {
                let (value, end) = fast.value(key.value)?;
                record.fields[field] = value;
                end
            }
            Field::Args => take_args(fast, key.value, wanted, record)?,
            Field::Other => fast.value(key.value)?.1,
        };
        match fast.behind(at, b'}')? {
            Behind::More(next) => at = next,
            Behind::Closed(end) => return Some(end),
        }
    }
}

#[inline]
fn take_args(fast: Fast<'_>, start: usize, wanted: &WantedArgs<'_>, record: &mut Record) -> Option<usize> {
    record.clear_args();
    let start = fast.space(start);
    if fast.byte(start)? != b'{' {
        let (value, end) = fast.value(start)?;
        record.args = value;
        return Some(end);
    }
    let end = match known_args(fast, start, record) {
        (Known::All(length), _) => start + length,
        (Known::Before(key), _) => take_members(fast, start + key, wanted, record)?.end,
        (Known::Nothing, tag) => {
            let first = fast.space(start + 1);
            if fast.byte(first)? == b'}' {
                first + 1
            } else {
                let members = take_members(fast, first, wanted, record)?;
                if let (Some(tag), false) = (tag, members.repeated) {
                    let text = fast.from(start).get(..members.end - start)?;
                    record.seen.keep(tag, text, &record.keys, start, &record.wanted);
                }
                members.end
            }
        }
    };
    record.args = Span { start, end, kind: Kind::Object };
    Some(end)
}

/// What is known of the args at `start` from earlier ones, and the tag by which to keep them if it is nothing.
#[inline]
fn known_args(fast: Fast<'_>, start: usize, record: &mut Record) -> (Known, Option<u64>) {
    if !record.seen.is_worth_it() {
        return (Known::Nothing, None);
    }
    let args = fast.from(start);
    let Some(tag) = tag_of(fast.raw(record.fields[NAME]), args) else { return (Known::Nothing, None) };
    (record.seen.look_up(tag, args, start, &mut record.wanted), Some(tag))
}

struct Members {
    end: usize,
    /// Whether a wanted member came twice.
    repeated: bool,
}

/// Takes the members of `args` from the key at `at` on.
#[inline]
fn take_members(fast: Fast<'_>, mut at: usize, wanted: &WantedArgs<'_>, record: &mut Record) -> Option<Members> {
    let mut repeated = false;
    record.keys.clear();
    loop {
        record.keys.push(at);
        let key = fast.key(at)?;
        let (value, end) = fast.value(key.value)?;
        if let Some(position) = wanted.position(fast, key.span)
            && let Some(slot) = record.wanted.get_mut(position)
        {
            repeated |= slot.kind != Kind::Absent;
            *slot = value;
        }
        match fast.behind(end, b'}')? {
            Behind::More(next) => at = next,
            Behind::Closed(end) => return Some(Members { end, repeated }),
        }
    }
}

enum Field {
    Known(usize),
    Args,
    Other,
}

#[inline(always)]
fn field(fast: Fast<'_>, key: Key) -> Field {
    let raw = fast.raw(key.span);
    if key.span.kind == Kind::PlainText { field_named(raw) } else { escaped_field(raw) }
}

#[cold]
fn escaped_field(raw: &[u8]) -> Field {
    field_named(unescaped(raw).as_bytes())
}

#[inline(always)]
fn field_named(name: &[u8]) -> Field {
    match *name {
        [b'n', b'a', b'm', b'e'] => Field::Known(NAME),
        [b'c', b'a', b't'] => Field::Known(CATEGORY),
        [b'p', b'h'] => Field::Known(PHASE),
        [b't', b's'] => Field::Known(TIMESTAMP),
        [b'd', b'u', b'r'] => Field::Known(DURATION),
        [b'p', b'i', b'd'] => Field::Known(PROCESS),
        [b't', b'i', b'd'] => Field::Known(THREAD),
        [b'i', b'd'] => Field::Known(ID),
        [b'a', b'r', b'g', b's'] => Field::Args,
        _ => Field::Other,
    }
}

fn unescaped(raw: &[u8]) -> String {
    let key = Span { start: 0, end: raw.len(), kind: Kind::EscapedText };
    let text = key.of(raw, TextRule::Replace).and_then(|key| key.as_text());
    text.map_or(String::new(), |text| text.decode_lossy().into_owned())
}
