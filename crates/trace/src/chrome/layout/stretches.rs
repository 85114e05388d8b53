//! What stays the same from event to event of a layout.
//!
//! A *stretch* goes from the end of a value that changes to the beginning of the next one that does: gaps, and between them the values
//! that a few events of the layout had in common: `", "pid": 0, "tid": 7, "ts": `. An event all of whose stretches are in the tree is
//! taken by comparing bytes with them; where the values in a stretch stand is known.

use super::outline::{Outline, Part, Role};
use super::{Behind, ROOT, behind, take_value, text_between};
use crate::chrome::event::{Field, Record};
use crate::chrome::form::Form;
use crate::chrome::keys::WantedArgs;
use crate::scan::{Fast, Kind, Span, common_prefix};
use rustc_hash::FxHashMap;

/// Bytes of the longest stretch that is kept.
const LONGEST: usize = 255;

/// Stretches that are kept; with their size this bounds the memory of each thread.
const STRETCHES: usize = 1024;

/// Stretches that are kept behind the same stretch.
const NEXT: usize = 16;

/// Events of a layout that are compared with each other: the first, the second, the fourth and so on, so that what only a run of
/// events has in common is not kept.
const SAMPLES: u32 = 5;

/// A tree of stretches.
#[derive(Debug, Clone, Default)]
pub(super) struct Stretches {
    all: Vec<Stretch>,
}

/// What stands between two values that change.
#[derive(Debug, Clone)]
struct Stretch {
    text: Box<[u8]>,
    /// Eight bytes of the text that tell it from its alternatives, and which bits of them count where there are fewer; where they begin.
    probe: u64,
    counts: u64,
    probe_at: usize,
    /// The fields and wanted members in it; places are counted from its start.
    values: Box<[Part]>,
    /// As in a gap.
    args_open: u8,
    args_end: u8,
    role: Role,
    is_text: bool,
    first_next: u16,
    alternative: u16,
    keys: u64,
}

impl Stretch {
    /// Whether `rest` begins with the text.
    #[inline(always)]
    fn begins(&self, rest: &[u8]) -> bool {
        let Some(probe) = rest.get(self.probe_at..).and_then(<[u8]>::first_chunk) else { return false };
        if (u64::from_le_bytes(*probe) ^ self.probe) & self.counts != 0 {
            return false;
        }
        // Of a short text that was all.
        self.text.len() <= 8 || rest.get(..self.text.len()) == Some(&self.text)
    }

    /// Lets the probe begin where the text differs from another one, if that is behind where it begins and can be.
    fn tell_from(&mut self, other: &[u8]) {
        let counted = self.text.len().min(8);
        self.probe_at = common_prefix(&self.text, other).max(self.probe_at).min(self.text.len() - counted);
        let mut probe = [0; 8];
        for (to, from) in probe.iter_mut().zip(self.text.iter().skip(self.probe_at)) {
            *to = *from;
        }
        self.probe = u64::from_le_bytes(probe);
        self.counts = u64::MAX.checked_shr(64 - 8 * counted as u32).unwrap_or_default();
    }

    fn is_like(&self, other: &Stretch) -> bool {
        let facts =
            |stretch: &Stretch| (stretch.args_open, stretch.args_end, stretch.role, stretch.is_text, stretch.keys);
        facts(self) == facts(other) && self.text == other.text
    }
}

/// Takes the event whose `{` stands at `start`, if all its stretches are known: the position behind it. Otherwise the record may hold
/// anything.
#[inline]
pub(super) fn take_known(fast: Fast<'_>, start: usize, record: &mut Record) -> Option<usize> {
    let Record { layouts, fields, wanted, args, repeated, form: event_form, .. } = record;
    let all = layouts.stretches.all.as_slice();
    let mut rest = fast.from(start);
    let mut next = all.first()?.first_next;
    let mut args_start = 0;
    let mut form = Form { ascii: true, ..Form::NEW };
    loop {
        let mut stretch = all.get(usize::from(next))?;
        while !stretch.begins(rest) {
            if stretch.alternative == ROOT {
                return None;
            }
            stretch = all.get(usize::from(stretch.alternative))?;
        }
        let position = fast.position(rest);
        rest = rest.get(stretch.text.len()..)?;
        if stretch.args_open != 0 {
            args_start = position + usize::from(stretch.args_open);
            wanted.iter_mut().for_each(|arg| arg.kind = Kind::Absent);
            *repeated = None;
        }
        for part in &stretch.values {
            let value =
                Span { start: position + part.value.start, end: position + part.value.end, kind: part.value.kind };
            put(part.role, value, fields, wanted)?;
        }
        if stretch.args_end != 0 {
            *args = Span { start: args_start, end: position + usize::from(stretch.args_end), kind: Kind::Object };
        }
        if stretch.role == Role::End {
            *event_form = Form { hash: stretch.keys, ..form };
            return Some(fast.position(rest));
        }
        let value;
        (value, rest) = take_value(fast, rest, stretch.is_text, &mut form)?;
        put(stretch.role, value, fields, wanted)?;
        next = stretch.first_next;
    }
}

#[inline(always)]
fn put(role: Role, value: Span, fields: &mut [Span; Field::COUNT], wanted: &mut [Span]) -> Option<()> {
    match role {
        Role::Field(field) => fields[field as usize] = value,
        Role::Wanted(position) => *wanted.get_mut(usize::from(position))? = value,
        Role::Other | Role::End => {}
    }
    Some(())
}

impl Stretches {
    /// Puts an event into the tree whose values are those of its layout where `stays` says so; `None` without room for all of
    /// it.
    fn add_event(&mut self, fast: Fast<'_>, outline: &Outline, stays: &[bool]) -> Option<()> {
        let (mut before, mut from) = (ROOT, outline.start);
        let mut values = Vec::new();
        let end = Part { role: Role::End, value: Span { start: outline.end, end: outline.end, kind: Kind::Absent } };
        let parts = outline.parts.iter().zip(stays).map(|(part, stays)| (*part, *stays));
        for (part, stays) in parts.chain([(end, false)]) {
            if stays {
                let (start, end) = (part.value.start - from, part.value.end - from);
                if part.role != Role::Other {
                    values.push(Part { value: Span { start, end, kind: part.value.kind }, ..part });
                }
                continue;
            }
            let (args_open, args_end) = outline.args_between(from, part.value.start)?;
            let text = text_between(fast, from, part.value.start);
            let stretch = Stretch {
                text: text.into(),
                probe: 0,
                counts: 0,
                probe_at: 0,
                values: std::mem::take(&mut values).into(),
                args_open,
                args_end,
                role: part.role,
                is_text: part.is_text(),
                first_next: ROOT,
                alternative: ROOT,
                keys: if part.role == Role::End { outline.keys } else { 0 },
            };
            before = self.add(before, stretch)?;
            from = part.value.end;
        }
        Some(())
    }

    /// The number of a stretch behind another one; `None` without room for it.
    fn add(&mut self, before: u16, mut stretch: Stretch) -> Option<u16> {
        if self.all.is_empty() {
            self.all.push(Stretch { text: Box::default(), values: Box::default(), ..stretch.clone() });
        }
        let number = self.all.len();
        let has_room = |count| number < STRETCHES && count < NEXT && stretch.text.len() <= LONGEST;
        let links = |stretch: &Stretch| (stretch.first_next, stretch.alternative);
        let (first, last) = match behind(&self.all, before, links, |other| other.is_like(&stretch))? {
            Behind::Known(known) => return Some(known),
            Behind::New { first, last, count } if has_room(count) => (first, last),
            Behind::New { .. } => return None,
        };
        stretch.tell_from(&[]);
        let mut next = first;
        while next != ROOT {
            let other = self.all.get_mut(usize::from(next))?;
            other.tell_from(&stretch.text);
            stretch.tell_from(&other.text);
            next = other.alternative;
        }
        let link = match last {
            ROOT => &mut self.all.get_mut(usize::from(before))?.first_next,
            last => &mut self.all.get_mut(usize::from(last))?.alternative,
        };
        *link = number as u16;
        self.all.push(stretch);
        Some(number as u16)
    }
}

/// What a few events of each layout have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Samples {
    of: FxHashMap<u16, Sample>,
}

#[derive(Debug, Clone, Default)]
struct Sample {
    /// Events of the layout that no stretches were known of, since the last stretches were made of it, and how many were compared.
    events: u32,
    compared: u32,
    /// How many of these events make one that is compared, to begin with: twice as many each time.
    wait: u32,
    /// The values of the first one, and whether all others had the same.
    values: Vec<(Box<[u8]>, bool)>,
}

impl Samples {
    /// Takes an event of a layout, and makes stretches of what it has in common with earlier ones when there were enough.
    #[inline]
    pub(super) fn take(
        &mut self,
        layout: u16,
        fast: Fast<'_>,
        start: usize,
        wanted: &WantedArgs<'_>,
        stretches: &mut Stretches,
    ) {
        let sample = self.of.entry(layout).or_default();
        sample.events += 1;
        if sample.events > sample.wait << sample.compared && stretches.all.len() < STRETCHES {
            // What does not fit is taken gap by gap.
            let _ = sample.compare(fast, start, wanted, stretches);
        }
    }
}

impl Sample {
    #[inline(never)]
    fn compare(
        &mut self,
        fast: Fast<'_>,
        start: usize,
        wanted: &WantedArgs<'_>,
        stretches: &mut Stretches,
    ) -> Option<()> {
        let outline = Outline::of(fast, start, wanted)?;
        if self.compared == 0 {
            let values = outline.parts.iter().map(|part| (fast.raw(part.value).into(), is_plain(fast, part.value)));
            self.values = values.collect();
        } else {
            for ((value, stays), part) in self.values.iter_mut().zip(&outline.parts) {
                *stays = *stays && fast.raw(part.value) == value.as_ref();
            }
        }
        self.compared += 1;
        if self.compared < SAMPLES {
            return Some(());
        }
        let stays: Vec<bool> = self.values.iter().map(|(_, stays)| *stays).collect();
        *self = Sample { wait: (2 * self.wait).max(1), ..Sample::default() };
        stretches.add_event(fast, &outline, &stays)
    }
}

/// Whether a value tells nothing more than itself: no text but ASCII without escapes, no objects and no words that are not JSON in it.
fn is_plain(fast: Fast<'_>, value: Span) -> bool {
    let mut form = Form { ascii: true, ..Form::NEW };
    form.value(fast.all(), value);
    value.kind == Kind::PlainText && fast.raw(value).is_ascii() || form.is_ascii() && !form.is_odd()
}
