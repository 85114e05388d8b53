//! Texts that are kept once: the rows of a profile repeat most of theirs.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

/// One of [`Texts`]: equal ones are equal texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Text(u32);

impl Text {
    /// The empty text.
    pub(super) const EMPTY: Text = Text(0);
}

/// Different texts, in order of first appearance.
#[derive(Debug)]
pub(super) struct Texts(IndexSet<Box<str>, FxBuildHasher>);

impl Texts {
    pub(super) fn new() -> Texts {
        Texts(IndexSet::from_iter([Box::default()]))
    }

    /// Keeps a text, if it is not kept already.
    pub(super) fn keep(&mut self, text: &str) -> Text {
        let at = self.0.get_index_of(text).unwrap_or_else(|| self.0.insert_full(text.into()).0);
        // More than four thousand million texts find no room in memory.
        Text(u32::try_from(at).unwrap_or(u32::MAX))
    }

    pub(super) fn get(&self, text: Text) -> &str {
        self.0.get_index(text.0 as usize).map(|text| &**text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_kept_once() {
        let mut texts = Texts::new();
        let kept = ["ND", "", "NZ", "ND"].map(|text| texts.keep(text));
        assert_eq!((kept[0], kept[1]), (kept[3], Text::EMPTY));
        assert_eq!(kept.map(|text| texts.get(text)), ["ND", "", "NZ", "ND"]);
        assert_eq!(texts.0.len(), 3);
    }
}
