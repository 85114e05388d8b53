//! Stretches: the blocks outside of layers, by what they stand between.

use std::collections::BTreeMap;

use super::Assignment;
use crate::structure::Sequence;

/// Where blocks outside of layers stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Stretch {
    /// Before the first layer, or everything where a trace has no layers.
    Start,
    /// Behind layers of a kind that both traces have.
    Behind(usize),
    /// Behind layers of a kind that one trace has.
    BehindOther,
    /// Behind the last layer.
    End,
    /// On other streams.
    Side,
}

impl Stretch {
    pub(super) fn name(self) -> String {
        match self {
            Stretch::Start => "gapstart".to_owned(),
            Stretch::Behind(kind) => format!("gap{}", letters(kind)),
            Stretch::BehindOther => "gapother".to_owned(),
            Stretch::End => "gapend".to_owned(),
            Stretch::Side => "side".to_owned(),
        }
    }
}

/// `A` to `Z`, `AA` and so on.
pub(in crate::groups) fn letters(number: usize) -> String {
    let letter = char::from(b'A' + (number % 26) as u8);
    if number < 26 { letter.to_string() } else { format!("{}{letter}", letters(number / 26 - 1)) }
}

impl Assignment {
    /// Blocks outside of layers by stretch; the blocks of other streams among them.
    pub(super) fn stretches_of(&self, side: usize, sequence: &Sequence) -> BTreeMap<Stretch, Vec<usize>> {
        let mut found: BTreeMap<Stretch, Vec<usize>> = BTreeMap::new();
        let mut layers = sequence.layers.iter().filter(|_| self.has_layers).peekable();
        let mut before: Option<usize> = None;
        let mut at = 0;
        while at < sequence.blocks.len() {
            if let Some(layer) = layers.next_if(|layer| layer.blocks.start <= at) {
                before = Some(layer.unit);
                at = layer.blocks.end;
                continue;
            }
            let stretch = match before {
                None => Stretch::Start,
                Some(_) if layers.peek().is_none() => Stretch::End,
                Some(unit) => self.kinds[side].get(&unit).map_or(Stretch::BehindOther, |kind| Stretch::Behind(*kind)),
            };
            found.entry(stretch).or_default().push(at);
            at += 1;
        }
        if !sequence.side_blocks.is_empty() {
            found.insert(Stretch::Side, (0..sequence.side_blocks.len()).collect());
        }
        found
    }
}
