//! Layouts of events that were seen before.
//!
//! A profiler writes its events in a few dozen layouts: the same keys in the same order with the same spaces between them. What stands
//! between two values, from the end of the first to the beginning of the second, is a *gap*: `, "tid": `. Gaps are kept as a tree, each
//! below the gap in front of it, and an event whose gaps are all in the tree is taken by comparing bytes: only its values are looked at. A
//! gap in the tree was found to be good JSON at that place of an event, and behind other good values it still is.
//!
//! Many values of a layout are the same in event after event: phase, category, process. Where a few events of a layout have shown which,
//! these values are taken together with the gaps around them, as [stretches].
//!
//! What is not in the tree is taken key by key and put into it, so that the next event of its layout is. Where layouts do not repeat,
//! this switches itself off.

mod outline;
mod stretches;

use super::event::Record;
use super::form::Form;
use super::keys::WantedArgs;
use crate::scan::{BLOCK, Fast, Kind, Span, equal_bytes, longer_number, short_list_of_integers, short_number};
use outline::{Outline, Role};
use stretches::{Samples, Stretches};

/// Bytes of the longest gap that is kept.
pub(super) const LONGEST_GAP: usize = 3 * BLOCK;

/// Gaps that are kept; with their size this bounds the memory of each thread.
const GAPS: usize = 2048;

/// Gaps that are kept behind the same gap.
const NEXT: usize = 16;

/// Events that may be of no layout before any is.
const CREDIT: i32 = 1024;

/// The gap in front of every event, and none where a gap may follow.
const ROOT: u16 = 0;

/// The layouts that were seen, as a tree of gaps.
#[derive(Debug, Clone)]
pub(super) struct Layouts {
    gaps: Vec<Gap>,
    stretches: Stretches,
    samples: Samples,
    credit: i32,
}

/// What stands between two values of an event.
#[derive(Debug, Clone)]
struct Gap {
    /// From the end of the value in front to the beginning of the value behind, the quotes of texts included; zeros fill it up.
    text: [u8; LONGEST_GAP],
    /// One bit for each byte that is behind the end of the gap: those of the first block, and those of the others.
    behind_first: u32,
    behind_others: u32,
    length: u8,
    /// Where in `text` the brace stands that opens `args`, and the place behind the one that closes it; 0 for none. Where both are
    /// there, `args` is empty.
    args_open: u8,
    args_end: u8,
    /// What the value behind it is for.
    role: Role,
    /// Whether the value behind it is a text.
    is_text: bool,
    /// The first gap that may follow, and the next one that may stand in place of this one.
    first_next: u16,
    alternative: u16,
    /// At the end of an event: hash of its keys.
    keys: u64,
}

impl Gap {
    const EMPTY: Gap = Gap {
        text: [0; LONGEST_GAP],
        behind_first: 0,
        behind_others: 0,
        length: 0,
        args_open: 0,
        args_end: 0,
        role: Role::Other,
        is_text: false,
        first_next: ROOT,
        alternative: ROOT,
        keys: 0,
    };

    /// Puts in the text; `None` if it is too long.
    fn set_text(&mut self, text: &[u8]) -> Option<()> {
        self.text.get_mut(..text.len())?.copy_from_slice(text);
        self.length = text.len() as u8;
        let behind = u64::MAX << text.len();
        self.behind_first = (behind & 0xffff) as u32;
        self.behind_others = (behind >> BLOCK) as u32;
        Some(())
    }

    /// Whether `bytes` begin with the text.
    #[inline(always)]
    fn begins(&self, bytes: &[u8; LONGEST_GAP]) -> bool {
        let ([first, second, third], [own_first, own_second, own_third]) = (blocks(bytes), blocks(&self.text));
        if equal_bytes(first, own_first) | self.behind_first != 0xffff {
            return false;
        }
        usize::from(self.length) <= BLOCK
            || equal_bytes(second, own_second) | equal_bytes(third, own_third) << BLOCK | self.behind_others == u32::MAX
    }

    /// Whether both are the same but for what follows them.
    fn is_like(&self, other: &Gap) -> bool {
        let facts = |gap: &Gap| (gap.length, gap.args_open, gap.args_end, gap.role, gap.is_text, gap.keys);
        facts(self) == facts(other) && self.text == other.text
    }
}

#[inline(always)]
fn blocks(bytes: &[u8; LONGEST_GAP]) -> [&[u8; BLOCK]; 3] {
    let block = |at: usize| bytes.as_chunks().0.get(at).unwrap_or(&[0; BLOCK]);
    [block(0), block(1), block(2)]
}

impl Layouts {
    pub(super) fn new() -> Layouts {
        Layouts { gaps: Vec::new(), stretches: Stretches::default(), samples: Samples::default(), credit: CREDIT }
    }

    /// Whether looking is worth it.
    #[inline]
    pub(super) fn are_worth_it(&self) -> bool {
        self.credit > 0
    }

    /// The first of some gaps, each the alternative of the one in front, that `rest` begins with, and its number.
    #[inline(always)]
    fn find(&self, first: u16, rest: &[u8]) -> Option<(&Gap, u16)> {
        let start = rest.first_chunk::<LONGEST_GAP>()?;
        let mut number = first;
        let mut gap = self.gaps.get(usize::from(number))?;
        while !gap.begins(start) {
            if gap.alternative == ROOT {
                return None;
            }
            number = gap.alternative;
            gap = self.gaps.get(usize::from(number))?;
        }
        Some((gap, number))
    }

    /// Puts the layout of a good event, whose `{` stands at `start`, into the tree.
    #[inline(never)]
    pub(super) fn learn(&mut self, fast: Fast<'_>, start: usize, wanted: &WantedArgs<'_>) {
        self.credit -= 2;
        if self.gaps.len() < GAPS && self.are_worth_it() {
            // What is not learned is taken key by key the next time, too.
            let _ = Outline::of(fast, start, wanted).and_then(|outline| self.learn_gaps(fast, &outline));
        }
    }

    fn learn_gaps(&mut self, fast: Fast<'_>, outline: &Outline) -> Option<()> {
        let (mut before, mut from) = (ROOT, outline.start);
        for part in &outline.parts {
            let (args_open, args_end) = outline.args_between(from, part.value.start)?;
            let gap = Gap { role: part.role, is_text: part.is_text(), args_open, args_end, ..Gap::EMPTY };
            before = self.add(before, text_between(fast, from, part.value.start), gap)?;
            from = part.value.end;
        }
        let (args_open, args_end) = outline.args_between(from, outline.end)?;
        let gap = Gap { role: Role::End, keys: outline.keys, args_open, args_end, ..Gap::EMPTY };
        self.add(before, text_between(fast, from, outline.end), gap).map(drop)
    }

    /// The gap of this text behind another one; `None` without room for it.
    fn add(&mut self, before: u16, text: &[u8], mut gap: Gap) -> Option<u16> {
        gap.set_text(text)?;
        if self.gaps.is_empty() {
            self.gaps.push(Gap::EMPTY);
        }
        let number = self.gaps.len();
        let links = |gap: &Gap| (gap.first_next, gap.alternative);
        let (first, last) = match behind(&self.gaps, before, links, |other| other.is_like(&gap))? {
            Behind::Known(known) => return Some(known),
            Behind::New { first, last, count } if number < GAPS && count < NEXT => (first, last),
            Behind::New { .. } => return None,
        };
        let link = if last == ROOT || gap.is_text {
            // Where a text and something else may follow the same key, both gaps begin alike: the one with the quote comes first.
            gap.alternative = first;
            &mut self.gaps.get_mut(usize::from(before))?.first_next
        } else {
            &mut self.gaps.get_mut(usize::from(last))?.alternative
        };
        *link = number as u16;
        self.gaps.push(gap);
        Some(number as u16)
    }
}

/// Where a gap or a stretch belongs behind another one.
enum Behind {
    /// It stands there already, under this number.
    Known(u16),
    /// Behind this many alternatives, the first and the last of them with these numbers (`ROOT` where there is none).
    New { first: u16, last: u16, count: usize },
}

/// Looks among what may follow `before` for one that is alike. `links` are what follows a node first, and its alternative.
fn behind<T>(all: &[T], before: u16, links: impl Fn(&T) -> (u16, u16), is_like: impl Fn(&T) -> bool) -> Option<Behind> {
    let (first, _) = links(all.get(usize::from(before))?);
    let (mut last, mut next, mut count) = (ROOT, first, 0);
    while next != ROOT {
        let other = all.get(usize::from(next))?;
        if is_like(other) {
            return Some(Behind::Known(next));
        }
        (last, next, count) = (next, links(other).1, count + 1);
    }
    Some(Behind::New { first, last, count })
}

fn text_between(fast: Fast<'_>, start: usize, end: usize) -> &[u8] {
    fast.raw(Span { start, end, kind: Kind::Object })
}

/// Takes the event whose `{` stands at `start`, if its layout is known: the position behind it. Otherwise the record may hold anything.
#[inline]
pub(super) fn take_known(fast: Fast<'_>, start: usize, wanted: &WantedArgs<'_>, record: &mut Record) -> Option<usize> {
    if let Some(end) = stretches::take_known(fast, start, record) {
        record.layouts.credit = (record.layouts.credit + 1).min(CREDIT);
        return Some(end);
    }
    record.clear(start);
    let (end, layout) = take_by_gaps(fast, start, record)?;
    let Layouts { samples, stretches, credit, .. } = &mut record.layouts;
    *credit = (*credit + 1).min(CREDIT);
    samples.take(layout, fast, start, wanted, stretches);
    Some(end)
}

/// [`take_known`] by gaps alone; besides the position behind the event the number of its last gap, which is different for each layout.
#[inline]
fn take_by_gaps(fast: Fast<'_>, start: usize, record: &mut Record) -> Option<(usize, u16)> {
    let mut rest = fast.from(start);
    let mut next = record.layouts.gaps.first()?.first_next;
    let mut args_start = 0;
    // What is kept of a layout is ASCII.
    let mut form = Form { ascii: true, ..Form::NEW };
    loop {
        let (gap, number) = record.layouts.find(next, rest)?;
        let (role, is_text, keys) = (gap.role, gap.is_text, gap.keys);
        next = gap.first_next;
        let (args_open, args_end) = (usize::from(gap.args_open), usize::from(gap.args_end));
        let position = fast.position(rest);
        rest = rest.get(usize::from(gap.length)..)?;
        if args_open | args_end != 0 {
            if args_open != 0 {
                args_start = position + args_open;
                record.clear_args();
            }
            if args_end != 0 {
                record.args = Span { start: args_start, end: position + args_end, kind: Kind::Object };
            }
        }
        if role == Role::End {
            record.form = Form { hash: keys, ..form };
            return Some((fast.position(rest), number));
        }
        let value;
        (value, rest) = take_value(fast, rest, is_text, &mut form)?;
        match role {
            Role::Field(field) => record.fields[field as usize] = value,
            Role::Wanted(position) => *record.wanted.get_mut(usize::from(position))? = value,
            Role::Other | Role::End => {}
        }
    }
}

/// Takes the value behind a gap, and what is odd about it.
#[inline(always)]
fn take_value<'a>(fast: Fast<'a>, rest: &'a [u8], is_text: bool, form: &mut Form) -> Option<(Span, &'a [u8])> {
    let start = fast.position(rest);
    let (length, kind) = if is_text {
        match fast.ascii_text(rest) {
            Some(length) => (length, Kind::PlainText),
            // The quote belongs to the next gap.
            None => {
                form.ascii = false;
                fast.long_text(rest)?
            }
        }
    } else if let Some(number) = short_number(rest) {
        number
    } else if let Some(found) = match rest {
        [b'[', ..] => short_list_of_integers(rest).map(|length| (length, Kind::List)),
        [b'0'..=b'9', ..] => longer_number(rest),
        _ => None,
    } {
        found
    } else {
        let (value, behind) = fast.other_value(rest)?;
        form.value(fast.all(), value);
        return Some((value, behind));
    };
    Some((Span { start, end: start + length, kind }, rest.get(length..)?))
}

#[cfg(test)]
mod tests;
