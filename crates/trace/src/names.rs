//! Interned texts: every distinct name of a trace once.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

/// Number of a name in a [`Names`] table.
pub type NameId = u32;

/// No name.
pub const NO_NAME: NameId = NameId::MAX;

/// The distinct names of a trace, numbered in order of appearance.
///
/// Lookups go by the bytes that stand in the file, so escapes are decoded once per distinct text.
#[derive(Debug, Default)]
pub struct Names {
    by_source: FxHashMap<Box<[u8]>, NameId>,
    by_text: FxHashMap<Box<str>, NameId>,
    texts: Vec<Box<str>>,
}

impl Names {
    /// Number of the name written as `source`; `decode` is asked for its text the first time.
    pub fn source<'a>(&mut self, source: &[u8], decode: impl FnOnce() -> Cow<'a, str>) -> NameId {
        if let Some(id) = self.by_source.get(source) {
            return *id;
        }
        let id = self.text(&decode());
        self.by_source.insert(source.into(), id);
        id
    }

    /// Number of a text.
    pub fn text(&mut self, text: &str) -> NameId {
        if let Some(id) = self.by_text.get(text) {
            return *id;
        }
        let id = self.texts.len() as NameId;
        self.texts.push(text.into());
        self.by_text.insert(text.into(), id);
        id
    }

    /// The text of a number; empty for no name.
    pub fn get(&self, id: NameId) -> &str {
        self.texts.get(id as usize).map_or("", AsRef::as_ref)
    }

    /// Number of a text that is there.
    pub fn find(&self, text: &str) -> Option<NameId> {
        self.by_text.get(text).copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Numbers in this table of the names of another one.
    pub fn adopt(&mut self, other: &Names) -> Vec<NameId> {
        other.texts.iter().map(|text| self.text(text)).collect()
    }

    /// Forgets how names were written in the file; new names are not expected any more.
    pub fn finish(&mut self) {
        self.by_source = FxHashMap::default();
    }
}
