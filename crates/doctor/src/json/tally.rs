//! What was odd about the text of a JSON file, counted.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::code::Code;
use crate::finding::{Evidence, Findings};

/// How often something was seen, and where first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) count: u64,
    pub(crate) first_at: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, at: u64) {
        if self.count == 0 {
            self.first_at = at;
        }
        self.count += 1;
    }

    fn join(&mut self, other: Seen) {
        if self.count == 0 {
            self.first_at = other.first_at;
        }
        self.count += other.count;
    }
}

/// Where the document ends too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Truncated {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    pub(crate) events: u64,
}

/// What was odd.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) control: Seen,
    pub(crate) words: IndexMap<String, u64>,
    pub(crate) nonfinite: Seen,
    pub(crate) bad_utf8: Seen,
    pub(crate) duplicate_keys: IndexMap<String, u64>,
    /// Elements of the list of events that are not objects.
    pub(crate) no_events: u64,
    /// Events that could be read.
    pub(crate) events: u64,
    /// Faults inside the list of events, and the reason of the first.
    pub(crate) damaged: Seen,
    pub(crate) reason: &'static str,
    pub(crate) truncated: Option<Truncated>,
    /// Where something follows the document, and how many bytes.
    pub(crate) trailing: Option<(u64, u64)>,
    /// Keys at the top, in order.
    pub(crate) top_keys: Vec<String>,
    /// Members at the top that a later one of the same name replaces, counted from 0.
    pub(crate) replaced_members: Vec<usize>,
}

/// Keys that are listed.
const KEYS: usize = 5;

impl Tally {
    /// Adds what was odd about a piece.
    pub(crate) fn join(&mut self, piece: Tally) {
        self.control.join(piece.control);
        self.nonfinite.join(piece.nonfinite);
        self.bad_utf8.join(piece.bad_utf8);
        for (word, count) in piece.words {
            *self.words.entry(word).or_default() += count;
        }
        for (key, count) in piece.duplicate_keys {
            *self.duplicate_keys.entry(key).or_default() += count;
        }
    }

    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicate_keys.values().sum()
    }

    /// Reports all of it.
    pub(crate) fn report(&self, found: &mut Findings) {
        self.report_bytes(found);
        if !self.duplicate_keys.is_empty() {
            let mut keys: Vec<(&String, &u64)> = self.duplicate_keys.iter().collect();
            keys.sort_by(|a, b| b.1.cmp(a.1));
            let keys: Map<String, Value> =
                keys.into_iter().take(KEYS).map(|(key, count)| (key.clone(), (*count).into())).collect();
            let evidence = Evidence::new().with("keys", keys).with("count", self.duplicates());
            found.warning(Code::DuplicateKeys, None, evidence);
        }
        if let Some(Truncated { at, bytes, events }) = self.truncated {
            let evidence = Evidence::new()
                .with("at_byte", at)
                .with("bytes", bytes)
                .with("last_good_event", events.checked_sub(1))
                .with("events", events);
            found.error(Code::TruncatedJson, None, evidence);
        }
        if self.damaged.count > 0 {
            let evidence = Evidence::new()
                .with("at_byte", self.damaged.first_at)
                .with("reason", self.reason)
                .with("events", self.events)
                .with("damaged", self.damaged.count);
            found.error(Code::MalformedJson, None, evidence);
        }
        if let Some((at, bytes)) = self.trailing {
            found.error(Code::TrailingData, None, Evidence::new().with("at_byte", at).with("bytes", bytes));
        }
        if self.no_events > 0 {
            found.error(Code::BadEvents, None, Evidence::new().with("events", self.no_events));
        }
    }

    fn report_bytes(&self, found: &mut Findings) {
        if self.control.count > 0 {
            let evidence =
                Evidence::new().with("count", self.control.count).with("first_at_byte", self.control.first_at);
            found.warning(Code::ControlCharacters, None, evidence);
        }
        if self.nonfinite.count > 0 {
            let words: Map<String, Value> =
                self.words.iter().map(|(word, count)| (word.clone(), (*count).into())).collect();
            let evidence = Evidence::new()
                .with("words", words)
                .with("count", self.nonfinite.count)
                .with("first_at_byte", self.nonfinite.first_at);
            found.warning(Code::BareNonfinite, None, evidence);
        }
        if self.bad_utf8.count > 0 {
            let evidence = Evidence::new().with("at_byte", self.bad_utf8.first_at).with("count", self.bad_utf8.count);
            found.warning(Code::InvalidUtf8, None, evidence);
        }
    }
}
