//! Sums that show that nothing was lost or counted twice on the way from the file to the results.

use perfdb_trace::time::Picoseconds;
use serde_json::{Map, Value};

use crate::finding::microseconds;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// How many.
    Count(u64),
    /// How long.
    Time(Picoseconds),
    /// Whether it adds up.
    Holds(bool),
}

/// Named sums, and whether they add up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Certificate {
    entries: Vec<(&'static str, Entry)>,
    /// Time of each process of a simulator's trace.
    pub(crate) times_by_process: Vec<(String, Picoseconds)>,
}

impl Certificate {
    pub(crate) fn count(&mut self, key: &'static str, count: usize) {
        self.entries.push((key, Entry::Count(count as u64)));
    }

    pub(crate) fn time(&mut self, key: &'static str, time: Picoseconds) {
        self.entries.push((key, Entry::Time(time)));
    }

    pub(crate) fn holds(&mut self, key: &'static str, holds: bool) {
        self.entries.push((key, Entry::Holds(holds)));
    }

    /// The entries in order.
    pub fn entries(&self) -> &[(&'static str, Entry)] {
        &self.entries
    }

    /// The sums that do not add up. There are none unless this crate has a bug.
    pub fn broken(&self) -> Vec<&'static str> {
        let broken = self.entries.iter().filter(|(_, entry)| *entry == Entry::Holds(false));
        broken.map(|(key, _)| *key).collect()
    }

    pub(crate) fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for (key, entry) in &self.entries {
            let value = match entry {
                Entry::Count(count) => Value::from(*count),
                Entry::Time(time) => Value::from(microseconds(*time)),
                Entry::Holds(holds) => Value::from(*holds),
            };
            map.insert((*key).to_owned(), value);
        }
        if !self.times_by_process.is_empty() {
            let times = self.times_by_process.iter();
            let times = times.map(|(process, time)| (process.clone(), microseconds(*time).into())).collect();
            map.insert("time_us".to_owned(), Value::Object(times));
        }
        map
    }
}
