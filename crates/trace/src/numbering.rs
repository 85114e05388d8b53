//! Small numbers in place of keys.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Distinct keys, numbered from 0 in order of appearance. Events of one kind follow each other, so the last key is remembered.
///
/// ```
/// let mut streams = perfdb_trace::numbering::Numbering::default();
/// assert_eq!([7, 9, 7].map(|stream| streams.number(stream)), [0, 1, 0]);
/// assert_eq!(streams.keys(), [7, 9]);
/// ```
#[derive(Debug)]
pub struct Numbering<K> {
    numbers: FxHashMap<K, u32>,
    keys: Vec<K>,
    last: Option<(K, u32)>,
}

impl<K> Default for Numbering<K> {
    fn default() -> Self {
        Numbering { numbers: FxHashMap::default(), keys: Vec::new(), last: None }
    }
}

impl<K: Copy + Eq + Hash> Numbering<K> {
    /// Number of a key.
    pub fn number(&mut self, key: K) -> u32 {
        if let Some((last, number)) = self.last
            && last == key
        {
            return number;
        }
        let next = self.keys.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        self.last = Some((key, number));
        number
    }

    /// The keys in the order of their numbers.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// Replaces the keys, one for one.
    pub fn rename(&mut self, mut rename: impl FnMut(K) -> K) {
        let renamed: Vec<K> = self.keys.iter().map(|key| rename(*key)).collect();
        *self = Numbering::default();
        for key in renamed {
            self.number(key);
        }
    }
}
