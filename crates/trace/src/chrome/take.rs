//! Taking one event: notes where its fields and the wanted members of its `args` stand, and passes over the rest.

use super::event::{Field, Record};
use super::form::Form;
use super::keys::{Named, WantedArgs, named};
use super::layout::take_known;
use super::seen::{Known, tag_of};
use crate::scan::{Behind, Fast, Kind, Span};

/// Takes the event whose `{` stands at `start`; the position behind it, or `None` where it is cut or no JSON.
#[inline]
pub(super) fn take_event(
    fast: Fast<'_>,
    start: usize,
    wanted: &WantedArgs<'_>,
    forms: bool,
    record: &mut Record,
) -> Option<usize> {
    record.clear(start);
    if !forms {
        return take_keys::<false>(fast, start, wanted, record);
    }
    if !record.layouts.are_worth_it() {
        return take_keys::<true>(fast, start, wanted, record);
    }
    if let Some(end) = take_known(fast, start, wanted, record) {
        return Some(end);
    }
    record.clear(start);
    let end = take_keys::<true>(fast, start, wanted, record)?;
    record.layouts.learn(fast, start, wanted);
    Some(end)
}

/// Takes an event key by key. Its form is only known with `FORMS`.
#[inline]
fn take_keys<const FORMS: bool>(
    fast: Fast<'_>,
    start: usize,
    wanted: &WantedArgs<'_>,
    record: &mut Record,
) -> Option<usize> {
    record.form = if FORMS { Form::NEW } else { Form::UNKNOWN };
    let mut rest = fast.space(fast.from(start + 1));
    if let [b'}', rest @ ..] = rest {
        return Some(fast.position(rest));
    }
    loop {
        let key = fast.key(rest)?;
        if FORMS {
            record.form.key(key);
        }
        rest = match named(key) {
            Named::Field(field) => {
                let (value, rest) = fast.value(key.rest)?;
                if FORMS {
                    record.form.value(fast.all(), value);
                }
                record.fields[field as usize] = value;
                rest
            }
            Named::Args => take_args::<FORMS>(fast, key.rest, wanted, record)?,
            Named::Other => {
                let (value, rest) = fast.value(key.rest)?;
                if FORMS {
                    record.form.value(fast.all(), value);
                }
                rest
            }
        };
        match fast.behind(rest, b'}')? {
            Behind::More(next) => rest = next,
            Behind::Closed(rest) => return Some(fast.position(rest)),
        }
    }
}

#[inline]
fn take_args<'a, const FORMS: bool>(
    fast: Fast<'a>,
    rest: &'a [u8],
    wanted: &WantedArgs<'_>,
    record: &mut Record,
) -> Option<&'a [u8]> {
    record.clear_args();
    let args = fast.space(rest);
    let [b'{', inside @ ..] = args else {
        let (value, rest) = fast.value(args)?;
        if FORMS {
            record.form.value(fast.all(), value);
        }
        record.args = value;
        return Some(rest);
    };
    let start = fast.position(args);
    if FORMS {
        // What was seen before does not give the form.
        record.form.bracket();
        let rest = match fast.space(inside) {
            [b'}', rest @ ..] => rest,
            first => take_members::<true>(fast, first, wanted, record)?.rest,
        };
        record.form.bracket();
        record.args = Span { start, end: fast.position(rest), kind: Kind::Object };
        return Some(rest);
    }
    let rest = match known_args(fast, args, start, record) {
        (Known::All { length, number }, _) => {
            record.repeated = Some(number);
            args.get(length..)?
        }
        (Known::Before(key), _) => take_members::<false>(fast, args.get(key..)?, wanted, record)?.rest,
        (Known::Nothing, tag) => match fast.space(inside) {
            [b'}', rest @ ..] => rest,
            first => {
                let members = take_members::<false>(fast, first, wanted, record)?;
                if let (Some(tag), false) = (tag, members.repeated) {
                    let text = args.get(..args.len() - members.rest.len())?;
                    record.repeated = record.seen.keep(tag, text, &record.keys, start, &record.wanted);
                }
                members.rest
            }
        },
    };
    record.args = Span { start, end: fast.position(rest), kind: Kind::Object };
    Some(rest)
}

/// What is known of `args` from earlier ones, and the tag by which to keep them if it is nothing.
#[inline]
fn known_args(fast: Fast<'_>, args: &[u8], start: usize, record: &mut Record) -> (Known, Option<u64>) {
    if !record.seen.is_worth_it() {
        return (Known::Nothing, None);
    }
    let Some(tag) = tag_of(fast.raw(record.fields[Field::Name as usize]), args) else { return (Known::Nothing, None) };
    (record.seen.look_up(tag, args, start, &mut record.wanted), Some(tag))
}

struct Members<'a> {
    rest: &'a [u8],
    /// Whether a wanted member came twice.
    repeated: bool,
}

/// Takes the members of `args` from a key on.
#[inline]
fn take_members<'a, const FORMS: bool>(
    fast: Fast<'a>,
    mut rest: &'a [u8],
    wanted: &WantedArgs<'_>,
    record: &mut Record,
) -> Option<Members<'a>> {
    let mut repeated = false;
    let keep = !FORMS && record.seen.is_worth_it();
    record.keys.clear();
    loop {
        if keep {
            record.keys.push(fast.position(rest));
        }
        let key = fast.key(rest)?;
        let (value, behind) = fast.value(key.rest)?;
        if FORMS {
            record.form.key(key);
            record.form.value(fast.all(), value);
        }
        if let Some(position) = wanted.position(key)
            && let Some(slot) = record.wanted.get_mut(position)
        {
            repeated |= slot.kind != Kind::Absent;
            *slot = value;
        }
        match fast.behind(behind, b'}')? {
            Behind::More(next) => rest = next,
            Behind::Closed(rest) => return Some(Members { rest, repeated }),
        }
    }
}
