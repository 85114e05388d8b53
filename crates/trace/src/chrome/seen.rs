//! Args that were seen before.
//!
//! The layers of a model are alike, and so are the args of their events: in the simulator's traces more than 90 %
//! repeat earlier ones byte for byte. What begins with the same bytes has the same meaning up to where it differs, so such
//! args are compared instead of being taken apart again. Where nothing repeats, this switches itself off.

use crate::scan::{Kind, Span, common_prefix};

/// Slots that args with the same tag can be kept in.
const WAYS: usize = 4;

/// Sets of such slots.
const SETS: usize = 128;

/// Longest args that are kept; with the two numbers above this bounds the memory of each thread.
const LONGEST: usize = 4096;

/// Misses that are tolerated before anything repeats.
const CREDIT: i32 = 2048;

/// Args that were seen before, and what was in them.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    entries: Vec<Entry>,
    turn: usize,
    credit: i32,
    /// Number of the args that were kept last.
    kept: u64,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    tag: u64,
    /// Which of all args that were kept these are, from 1.
    number: u64,
    /// The args from brace to brace.
    text: Vec<u8>,
    /// Where the keys of the members start.
    keys: Vec<usize>,
    /// The wanted members.
    wanted: Vec<Span>,
}

/// How much of some args is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known {
    /// All of them.
    All { length: usize, number: u64 },
    /// The members in front of the key at this position, counted from the brace.
    Before(usize),
    /// Nothing that helps.
    Nothing,
}

impl Seen {
    pub(super) fn new() -> Seen {
        Seen { entries: Vec::new(), turn: 0, credit: CREDIT, kept: 0 }
    }

    /// Whether looking is worth it.
    #[inline]
    pub(super) fn is_worth_it(&self) -> bool {
        self.credit > 0
    }

    /// What was seen that begins like `bytes`. Puts the wanted members that are known into `wanted`, counted from `start`.
    #[inline]
    pub(super) fn look_up(&mut self, tag: u64, bytes: &[u8], start: usize, wanted: &mut [Span]) -> Known {
        let mut best: Option<(&Entry, usize)> = None;
        for entry in self.entries.get(set_of(tag)).unwrap_or_default() {
            if entry.tag != tag {
                continue;
            }
            let common = common_prefix(&entry.text, bytes);
            if common == entry.text.len() {
                self.credit = (self.credit + 8).min(CREDIT);
                put(entry, usize::MAX, start, wanted);
                return Known::All { length: common, number: entry.number };
            }
            if best.is_none_or(|(_, longest)| common > longest) {
                best = Some((entry, common));
            }
        }
        self.credit -= 1;
        let Some((entry, common)) = best else { return Known::Nothing };
        let known = entry.keys.partition_point(|&key| key <= common);
        match known.checked_sub(1).and_then(|last| entry.keys.get(last)) {
            // Less is not worth it, and would keep args out that share no more than their beginning.
            Some(&key) if key > entry.text.len() / 2 => {
                self.credit += 1;
                put(entry, key, start, wanted);
                Known::Before(key)
            }
            _ => Known::Nothing,
        }
    }

    /// Keeps args, the keys of whose members start at `keys`, counted from `start` like the wanted members; the number by which
    /// they are known from now on.
    pub(super) fn keep(&mut self, tag: u64, text: &[u8], keys: &[usize], start: usize, wanted: &[Span]) -> Option<u64> {
        if text.len() > LONGEST {
            return None;
        }
        if self.entries.is_empty() {
            self.entries.resize(SETS * WAYS, Entry::default());
        }
        self.turn = (self.turn + 1) % WAYS;
        self.kept += 1;
        if let Some(entry) = self.entries.get_mut(set_of(tag)).and_then(|set| set.get_mut(self.turn)) {
            entry.tag = tag;
            entry.number = self.kept;
            entry.text.clear();
            entry.text.extend_from_slice(text);
            entry.keys.clear();
            entry.keys.extend(keys.iter().map(|key| key - start));
            entry.wanted.clear();
            entry.wanted.extend(wanted.iter().map(|span| match span.kind {
                Kind::Absent => *span,
                kind => Span { start: span.start - start, end: span.end - start, kind },
            }));
        }
        Some(self.kept)
    }
}

fn set_of(tag: u64) -> std::ops::Range<usize> {
    let set = (tag >> 57) as usize % SETS * WAYS;
    set..set + WAYS
}

/// Copies the wanted members that end in front of `limit`.
#[inline(always)]
fn put(entry: &Entry, limit: usize, start: usize, wanted: &mut [Span]) {
    for (slot, span) in wanted.iter_mut().zip(&entry.wanted) {
        if span.kind != Kind::Absent && span.end < limit {
            *slot = Span { start: span.start + start, end: span.end + start, kind: span.kind };
        }
    }
}

/// A number that the same args of the same kind of event always have, and others rarely: made of the event's name and of a
/// few words of the beginning of its args.
#[inline(always)]
pub(super) fn tag_of(name: &[u8], args: &[u8]) -> Option<u64> {
    let (words, _) = args.first_chunk::<96>()?.as_chunks::<8>();
    let mut tag = name.len() as u64;
    if let Some(last) = name.last_chunk::<8>() {
        tag ^= u64::from_le_bytes(*last);
    }
    for word in [words[2], words[5], words[8], words[11]] {
        tag = (tag.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    Some(tag)
}
