//! What a trace says about ranks: its own number, and the process group of each collective.

use std::collections::BTreeMap;
use std::path::Path;

use perfdb_pycompat::value::Value as Decoded;
use perfdb_trace::chrome::{Item, ReadOptions, Reader};
use perfdb_trace::scan::Value;
use perfdb_trace::source::Source;

/// Arguments of collective kernels: the ranks of the group, and its name.
const ARGS: [&str; 2] = ["Process Group Ranks", "Process Group Name"];
/// The member of a trace that has its rank.
const MEMBER: &str = "distributedInfo";

/// What a trace says about ranks.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Number of the rank.
    pub(crate) rank: Option<u32>,
    /// Number of ranks of the run.
    pub(crate) world_size: Option<u32>,
    /// Ranks and name of the process group, by position of the event in its file.
    pub(crate) of_events: BTreeMap<u64, String>,
}

impl Groups {
    /// Reads them from a trace.
    pub(crate) fn read(path: &Path) -> Result<Groups, perfdb_trace::Error> {
        let mut source = Source::open(path)?;
        let options = ReadOptions::profiler().args(ARGS).members([MEMBER]);
        let mut reader = Reader::new(&mut source, &options);
        let mut groups = Groups::default();
        let mut position = 0;
        while let Some(item) = reader.next_item()? {
            match item {
                Item::Event(event) => {
                    if let Some(ranks) = event.text_arg(0) {
                        let name = event.text_arg(1).unwrap_or_default();
                        groups.of_events.insert(position, format!("{name} {ranks}").trim().to_owned());
                    }
                    position += 1;
                }
                Item::Member { value, .. } => groups.take_member(&value),
                // The list of events stands there twice: the last one counts.
                Item::Restart => (groups.of_events, position) = (BTreeMap::new(), 0),
            }
        }
        Ok(groups)
    }

    fn take_member(&mut self, value: &Value<'_>) {
        let Ok(Decoded::Dict(members)) = value.to_value() else { return };
        let number = |key: &str| match members.get(key) {
            Some(Decoded::Int(number)) => u32::try_from(*number).ok(),
            _ => None,
        };
        self.rank = number("rank");
        self.world_size = number("world_size");
    }
}
