//! Interned texts: every distinct name of a trace once.

use std::borrow::Cow;
use std::hash::Hasher;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};

/// Number of a name in a [`Names`] table.
pub type NameId = u32;

/// No name.
pub const NO_NAME: NameId = NameId::MAX;

/// Places of a table that has any names, at least; twice as many as names at most.
const PLACES: usize = 256;

/// The distinct names of a trace, numbered in order of appearance.
///
/// Lookups go by the bytes that stand in the file, so escapes are decoded once per distinct text. All texts stand in one buffer: each
/// piece of a trace has tables of its own, and most of their names are in them a few times.
#[derive(Debug, Default)]
pub struct Names {
    /// All texts, one behind the other.
    texts: String,
    entries: Vec<Entry>,
    /// Numbers of names by their hash, or [`NO_NAME`]; a power of two.
    places: Vec<NameId>,
    /// Names by how they stand in the file, where that is not the text.
    sources: FxHashMap<Box<[u8]>, NameId>,
    /// Whether some text has a backslash, which means something else in a file.
    has_backslash: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Where its text ends.
    end: usize,
    hash: u32,
}

impl Names {
    /// Number of the name written as `source`; `decode` is asked for its text the first time.
    pub fn source<'a>(&mut self, source: &[u8], decode: impl FnOnce() -> Cow<'a, str>) -> NameId {
        let hash = hash(source);
        let known = self.with_hash(source, hash);
        if known != NO_NAME && !(self.has_backslash && source.contains(&b'\\')) {
            return known;
        }
        match self.sources.get(source) {
            Some(id) => *id,
            None => self.new_source(source, hash, &decode()),
        }
    }

    #[inline(never)]
    fn new_source(&mut self, source: &[u8], hash: u32, text: &str) -> NameId {
        if text.as_bytes() == source && !source.contains(&b'\\') {
            return self.add(text, hash);
        }
        let id = self.text(text);
        self.sources.insert(source.into(), id);
        id
    }

    /// Number of a text.
    pub fn text(&mut self, text: &str) -> NameId {
        self.hashed(text, hash(text.as_bytes()))
    }

    /// The text of a number; empty for no name.
    pub fn get(&self, id: NameId) -> &str {
        self.range(id as usize).and_then(|range| self.texts.get(range)).unwrap_or_default()
    }

    /// Number of a text that is there.
    pub fn find(&self, text: &str) -> Option<NameId> {
        Some(self.with_hash(text.as_bytes(), hash(text.as_bytes()))).filter(|id| *id != NO_NAME)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Numbers in this table of the names of another one.
    pub fn adopt(&mut self, other: &Names) -> Vec<NameId> {
        let mut numbers = Vec::new();
        self.adopt_new(other, &mut numbers);
        numbers
    }

    /// Puts the numbers in this table of the names that another one got since behind those of the names before.
    pub fn adopt_new(&mut self, other: &Names, numbers: &mut Vec<NameId>) {
        let new = other.entries.iter().enumerate().skip(numbers.len());
        let number = |(at, entry): (usize, &Entry)| {
            let text = other.range(at).and_then(|range| other.texts.get(range)).unwrap_or_default();
            self.hashed(text, entry.hash)
        };
        numbers.extend(new.map(number));
    }

    /// Forgets how names were written in the file; new names are not expected any more.
    pub fn finish(&mut self) {
        self.sources = FxHashMap::default();
    }

    /// Where a text begins and ends.
    #[inline]
    fn range(&self, at: usize) -> Option<Range<usize>> {
        let end = self.entries.get(at)?.end;
        Some(at.checked_sub(1).map_or(0, |before| self.entries[before].end)..end)
    }

    fn hashed(&mut self, text: &str, hash: u32) -> NameId {
        match self.with_hash(text.as_bytes(), hash) {
            NO_NAME => self.add(text, hash),
            known => known,
        }
    }

    /// The number of a text of that hash, or [`NO_NAME`].
    #[inline]
    fn with_hash(&self, text: &[u8], hash: u32) -> NameId {
        let Some(last) = self.places.len().checked_sub(1) else { return NO_NAME };
        let mut place = hash as usize & last;
        loop {
            let id = self.places[place];
            if id == NO_NAME {
                return NO_NAME;
            }
            let at = id as usize;
            let is_text = |range| self.texts.as_bytes().get(range) == Some(text);
            if self.entries[at].hash == hash && self.range(at).is_some_and(is_text) {
                return id;
            }
            place = (place + 1) & last;
        }
    }

    /// The number of a text that is not there.
    fn add(&mut self, text: &str, hash: u32) -> NameId {
        let id = self.entries.len() as NameId;
        self.texts.push_str(text);
        self.has_backslash = self.has_backslash || text.contains('\\');
        self.entries.push(Entry { end: self.texts.len(), hash });
        if 2 * self.entries.len() > self.places.len() {
            self.places = vec![NO_NAME; (2 * self.places.len()).max(PLACES)];
            (0..id).for_each(|id| self.put(id));
        }
        self.put(id);
        id
    }

    fn put(&mut self, id: NameId) {
        let last = self.places.len() - 1;
        let mut place = self.entries[id as usize].hash as usize & last;
        while self.places[place] != NO_NAME {
            place = (place + 1) & last;
        }
        self.places[place] = id;
    }
}

#[inline]
fn hash(text: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_mean_one_text_have_one_number() {
        let mut names = Names::default();
        let plain = names.source(b"gemm", || "gemm".into());
        assert_eq!(names.source(br"g\u0065mm", || "gemm".into()), plain);
        assert_eq!(names.source(br"g\u0065mm", || "it is not decoded again".into()), plain);
        assert_eq!((names.find("gemm"), names.len()), (Some(plain), 1));
    }

    #[test]
    fn a_source_is_not_taken_for_the_text_that_it_looks_like() {
        let mut names = Names::default();
        let backslash = names.source(br"a\\b", || r"a\b".into());
        let backspace = names.source(br"a\b", || "a\u{8}b".into());
        assert_ne!(backslash, backspace);
        assert_eq!(names.source(br"a\b", || "a\u{8}b".into()), backspace);
        assert_eq!((names.get(backslash), names.get(backspace)), (r"a\b", "a\u{8}b"));
        assert_eq!((names.find(r"a\b"), names.text("a\u{8}b")), (Some(backslash), backspace));
        let bytes = names.source(b"\xff", || "\u{fffd}".into());
        assert_eq!((names.source(b"\xff", || "\u{fffd}".into()), names.get(bytes)), (bytes, "\u{fffd}"));
    }

    #[test]
    fn many_names_keep_their_numbers_and_move_to_other_tables() {
        let (mut names, mut others) = (Names::default(), Names::default());
        let texts: Vec<String> = (0..5000).map(|at| format!("name {at}")).collect();
        for (at, text) in (0..).zip(&texts) {
            assert_eq!(names.source(text.as_bytes(), || text.into()), at);
        }
        assert!(texts.iter().zip(0..).all(|(text, at)| names.get(at) == text && names.find(text) == Some(at)));
        let first = others.text("name 7");
        let adopted = others.adopt(&names);
        assert_eq!((adopted[7], adopted[0], others.len()), (first, 1, 5000));
        assert!(adopted.iter().zip(&texts).all(|(id, text)| others.get(*id) == text));
        let mut numbers = adopted.clone();
        let (new, known) = (names.text("new"), names.text("name 3"));
        others.adopt_new(&names, &mut numbers);
        assert_eq!((new, known, numbers.len(), others.get(numbers[5000])), (5000, 3, 5001, "new"));
        assert_eq!(numbers[..5000], adopted);
        assert_eq!((names.get(NO_NAME), names.get(5001), names.find("")), ("", "", None));
        let empty = names.text("");
        assert_eq!((names.get(empty), names.find("")), ("", Some(empty)));
    }
}
