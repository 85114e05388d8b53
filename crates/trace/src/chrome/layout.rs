//! Layouts of events that were seen before.
//!
//! A profiler writes its events in a few dozen layouts: the same keys in the same order with the same spaces between them. What stands
//! between two values, from the end of the first to the beginning of the second, is a *gap*: `, "tid": `. Gaps are kept as a tree, each
//! below the gap in front of it, and an event whose gaps are all in the tree is taken by comparing bytes: only its values are looked at. A
//! gap in the tree was found to be good JSON at that place of an event, and behind other good values it still is.
//!
//! What is not in the tree is taken key by key and put into it, so that the next event of its layout is. Where layouts do not repeat,
//! this switches itself off.

use super::event::{Field, Record};
use super::form::Form;
use super::keys::{Named, WantedArgs, named};
use crate::scan::{BLOCK, Fast, Kind, Span, equal_bytes, short_list_of_integers, short_number};

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
    /// Hash of the keys up to here.
    keys: u64,
}

/// What a value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Field(Field),
    /// The member of `args` at this position of those that are wanted.
    Wanted(u8),
    Other,
    /// There is none: the event ends with the gap.
    End,
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
        Layouts { gaps: Vec::new(), credit: CREDIT }
    }

    /// Whether looking is worth it.
    #[inline]
    pub(super) fn are_worth_it(&self) -> bool {
        self.credit > 0
    }

    /// The first of some gaps, each the alternative of the one in front, that `rest` begins with.
    #[inline(always)]
    fn find(&self, first: u16, rest: &[u8]) -> Option<&Gap> {
        let start = rest.first_chunk::<LONGEST_GAP>()?;
        let mut gap = self.gaps.get(usize::from(first))?;
        while !gap.begins(start) {
            if gap.alternative == ROOT {
                return None;
            }
            gap = self.gaps.get(usize::from(gap.alternative))?;
        }
        Some(gap)
    }

    /// Puts the layout of a good event, whose `{` stands at `start`, into the tree.
    #[inline(never)]
    pub(super) fn learn(&mut self, fast: Fast<'_>, start: usize, wanted: &WantedArgs<'_>) {
        self.credit -= 2;
        if self.gaps.len() < GAPS && self.are_worth_it() {
            // What is not learned is taken key by key the next time, too.
            let _ = self.learn_gaps(fast, start, wanted);
        }
    }

    fn learn_gaps(&mut self, fast: Fast<'_>, start: usize, wanted: &WantedArgs<'_>) -> Option<()> {
        let mut form = Form::NEW;
        let (mut before, mut gap_start) = (ROOT, start);
        let (mut args_seen, mut in_args) = (false, false);
        let mut gap = Gap::EMPTY;
        let mut rest = fast.from(start + 1);
        loop {
            rest = fast.space(rest);
            if let [b'}', behind @ ..] = rest {
                rest = behind;
                let end = fast.position(rest);
                if in_args {
                    in_args = false;
                    form.bracket();
                    gap.args_end = u8::try_from(end - gap_start).ok()?;
                    continue;
                }
                gap.role = Role::End;
                gap.keys = form.keys();
                return self.add(before, fast.raw(Span { start: gap_start, end, kind: Kind::Object }), gap).map(drop);
            }
            if let [b',', behind @ ..] = rest {
                rest = fast.space(behind);
            }
            let key = fast.key(rest)?;
            form.key(key);
            if form.is_odd() {
                return None;
            }
            let value_text = fast.space(key.rest);
            gap.role = match named(key) {
                _ if in_args => {
                    wanted.position(key).and_then(|at| u8::try_from(at).ok()).map_or(Role::Other, Role::Wanted)
                }
                Named::Field(field) => Role::Field(field),
                Named::Other => Role::Other,
                Named::Args => {
                    let [b'{', behind @ ..] = value_text else { return None };
                    if std::mem::replace(&mut args_seen, true) {
                        return None;
                    }
                    in_args = true;
                    form.bracket();
                    gap.args_open = u8::try_from(fast.position(value_text) - gap_start).ok()?;
                    rest = behind;
                    continue;
                }
            };
            let (value, behind) = fast.value(value_text)?;
            rest = behind;
            gap.is_text = matches!(value.kind, Kind::PlainText | Kind::EscapedText);
            gap.keys = form.keys();
            let text = fast.raw(Span { start: gap_start, end: value.start, kind: Kind::Object });
            before = self.add(before, text, std::mem::replace(&mut gap, Gap::EMPTY))?;
            gap_start = value.end;
        }
    }

    /// The gap of this text behind another one; `None` where there is no room for it.
    fn add(&mut self, before: u16, text: &[u8], mut gap: Gap) -> Option<u16> {
        gap.set_text(text)?;
        if self.gaps.is_empty() {
            self.gaps.push(Gap::EMPTY);
        }
        let number = self.gaps.len();
        let first = self.gaps.get(usize::from(before))?.first_next;
        let (mut last, mut next, mut count) = (ROOT, first, 0);
        while next != ROOT {
            let other = self.gaps.get(usize::from(next))?;
            if other.is_like(&gap) {
                return Some(next);
            }
            (last, next, count) = (next, other.alternative, count + 1);
        }
        if number >= GAPS || count >= NEXT {
            return None;
        }
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

/// Takes the event whose `{` stands at `start`, if its layout is known: the position behind it. Otherwise the record may hold anything.
#[inline]
pub(super) fn take_known(fast: Fast<'_>, start: usize, record: &mut Record) -> Option<usize> {
    let mut rest = fast.from(start);
    let mut next = record.layouts.gaps.first()?.first_next;
    let mut args_start = 0;
    // What is kept of a layout is ASCII.
    let mut form = Form { ascii: true, ..Form::NEW };
    loop {
        let gap = record.layouts.find(next, rest)?;
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
            record.layouts.credit = (record.layouts.credit + 1).min(CREDIT);
            return Some(fast.position(rest));
        }
        let start = fast.position(rest);
        let value = if is_text {
            let (length, kind) = match fast.ascii_text(rest) {
                Some(length) => (length, Kind::PlainText),
                None => {
                    form.ascii = false;
                    fast.long_text(rest)?
                }
            };
            // The quote belongs to the next gap.
            rest = rest.get(length..)?;
            Span { start, end: start + length, kind }
        } else if let Some((length, kind)) = short_number(rest) {
            rest = rest.get(length..)?;
            Span { start, end: start + length, kind }
        } else if let Some(length) = short_list_of_integers(rest) {
            rest = rest.get(length..)?;
            Span { start, end: start + length, kind: Kind::List }
        } else {
            let (value, behind) = fast.other_value(rest)?;
            form.value(fast.all(), value);
            rest = behind;
            value
        };
        match role {
            Role::Field(field) => record.fields[field as usize] = value,
            Role::Wanted(position) => *record.wanted.get_mut(usize::from(position))? = value,
            Role::Other | Role::End => {}
        }
    }
}

#[cfg(test)]
mod tests;
