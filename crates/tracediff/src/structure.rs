//! The structure of a trace: what runs on the main stream of each pass and device, as blocks, and the layers that these
//! repeat in.

mod blocks;
mod numbers;

use std::ops::Range;

use perfdb_trace::numbering::Numbering;
use perfdb_trace::sequence::{Entry, Units};
use rustc_hash::FxHashMap;

pub(crate) use blocks::{Block, Piece, Role, blocks};

use crate::columns::Kernel;
use crate::context::OUTSIDE;
use crate::context::classes::Classes;
use crate::context::passes::KernelPass;
use crate::corrections::Corrections;
use crate::family::Family;
use crate::names::Names;
use crate::time_order::TimeOrder;

/// The structure of a trace.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    pub(crate) sequences: Vec<Sequence>,
    /// Families of the blocks of each kind of layer, as numbers.
    pub(crate) units: Vec<Vec<u8>>,
}

/// A pass on a device.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// Kernels of the main stream by time.
    pub(crate) kernels: Vec<u32>,
    pub(crate) blocks: Vec<Block>,
    /// Layers in order.
    pub(crate) layers: Vec<PlacedLayer>,
    /// Kernels of all other streams by time, and their blocks.
    pub(crate) side_kernels: Vec<u32>,
    pub(crate) side_blocks: Vec<Block>,
}

/// A layer of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedLayer {
    pub(crate) blocks: Range<usize>,
    /// Which kind of layer.
    pub(crate) unit: usize,
    /// Number from 0 in its forward pass.
    pub(crate) number: u32,
}

/// What a structure is found from.
pub(crate) struct Sources<'a> {
    pub(crate) kernels: &'a [Kernel],
    pub(crate) order: &'a TimeOrder,
    pub(crate) passes: &'a [KernelPass],
    pub(crate) classes: &'a Classes,
    pub(crate) names: &'a Names,
    pub(crate) corrections: &'a Corrections,
    /// Ids of the streams as texts, for ties.
    pub(crate) streams: Vec<String>,
    /// Whether steps were annotated that are forward passes for certain.
    pub(crate) steps_are_passes: bool,
}

/// What groups of kernels with one name and class are.
pub(crate) fn facts(
    classes: &[crate::context::classes::Group],
    operations: &[String],
    names: &Names,
) -> Vec<(Family, Role)> {
    let fact = |group: &crate::context::classes::Group| {
        let class = operations[group.operation as usize].as_str();
        (Family::of(class), Role::of(names.get(group.name), class))
    };
    classes.iter().map(fact).collect()
}

impl Structure {
    pub(crate) fn new(sources: &Sources<'_>) -> Structure {
        let mut sequences = Vec::new();
        let units = each_sequence(sources, |sequence| sequences.push(sequence));
        Structure { sequences, units }
    }

    /// Per kernel its layer or [`OUTSIDE`], and how many layers a pass has.
    pub(crate) fn layers(&self, kernels: &[Kernel]) -> (Vec<u32>, u64) {
        let mut of_kernels = vec![OUTSIDE; kernels.len()];
        let count = self.sequences.iter().map(|sequence| sequence.note_layers(kernels, &mut of_kernels)).max();
        (of_kernels, count.unwrap_or(0))
    }
}

/// [`Structure::layers`] without the structure, of which one pass is held at a time.
pub(crate) fn layers(sources: &Sources<'_>) -> (Vec<u32>, u64) {
    let (mut of_kernels, mut count) = (vec![OUTSIDE; sources.kernels.len()], 0);
    each_sequence(sources, |sequence| count = count.max(sequence.note_layers(sources.kernels, &mut of_kernels)));
    (of_kernels, count)
}

/// The passes on their devices, one after the other; the families of the blocks of each kind of layer.
fn each_sequence(sources: &Sources<'_>, mut take: impl FnMut(Sequence)) -> Vec<Vec<u8>> {
    let facts = facts(&sources.classes.groups, &sources.classes.operations, sources.names);
    let mut instances: Numbering<(u32, u32)> = Numbering::default();
    let mut lists: Vec<Vec<u32>> = Vec::new();
    for at in sources.order.numbers(sources.kernels.len()) {
        let instance = instances.number((sources.passes[at].pass, sources.kernels[at].device)) as usize;
        if instance == lists.len() {
            lists.push(Vec::new());
        }
        lists[instance].push(at as u32);
    }
    let mut units = Units::default();
    let mut known: FxHashMap<Vec<u8>, Vec<perfdb_trace::sequence::Layer>> = FxHashMap::default();
    for list in lists {
        let (kernels, side_kernels) = by_stream(list, sources);
        let pieces = |kernels: &[u32]| -> Vec<Piece> {
            let piece = |at: &u32| {
                let kernel = &sources.kernels[*at as usize];
                let (family, role) = facts[sources.classes.of_kernels[*at as usize] as usize];
                let time = kernel.duration - sources.corrections.wait_of(*at);
                Piece { family, role, name: kernel.name, time: time.try_into().unwrap_or(u64::MAX >> 20) }
            };
            kernels.iter().map(piece).collect()
        };
        let found = blocks(&pieces(&kernels));
        let symbols: Vec<u8> = found.iter().map(|block| block.family as u8).collect();
        let layers = match known.get(&symbols) {
            Some(layers) => layers.clone(),
            None => {
                let entry = |block: &Block| Entry {
                    symbol: block.family as u8,
                    heavy: block.family.is_heavy(),
                    time: block.time,
                };
                let entries: Vec<Entry> = found.iter().map(entry).collect();
                let layers = units.layers(&entries);
                known.insert(symbols, layers.clone());
                layers
            }
        };
        let lengths = |unit: usize| units.symbols(unit).len();
        let layers = numbers::numbered(&layers, lengths, sources.steps_are_passes);
        let side_blocks = blocks(&pieces(&side_kernels));
        take(Sequence { kernels, blocks: found, layers, side_kernels, side_blocks });
    }
    (0..units.len()).map(|unit| units.symbols(unit).to_vec()).collect()
}

impl Sequence {
    /// Notes the layer of each kernel that is in one; the number of layers.
    fn note_layers(&self, kernels: &[Kernel], of_kernels: &mut [u32]) -> u64 {
        let mut count = 0;
        let start = |at: u32| kernels[at as usize].start;
        for layer in &self.layers {
            count = count.max(u64::from(layer.number) + 1);
            for kernel in &self.kernels[self.kernels_of(layer)] {
                of_kernels[*kernel as usize] = layer.number;
            }
        }
        // A kernel of another stream belongs to the layer in whose time it starts.
        let mut layers = self.layers.iter().peekable();
        let mut now = None;
        for kernel in &self.side_kernels {
            let first = |layer: &&PlacedLayer| {
                let kernels = self.kernels_of(layer);
                start(self.kernels[kernels.start]) <= start(*kernel)
            };
            while let Some(layer) = layers.next_if(first) {
                now = Some(layer);
            }
            if let Some(layer) = now {
                let last = self.kernels[self.kernels_of(layer).end - 1];
                if start(*kernel) < kernels[last as usize].end() {
                    of_kernels[*kernel as usize] = layer.number;
                }
            }
        }
        count
    }

    /// Positions of the kernels of a layer.
    pub(crate) fn kernels_of(&self, layer: &PlacedLayer) -> Range<usize> {
        self.blocks[layer.blocks.start].kernels.start..self.blocks[layer.blocks.end - 1].kernels.end
    }
}

/// Kernels of the stream with most kernel time (the smaller id as text on ties), and all others.
fn by_stream(list: Vec<u32>, sources: &Sources<'_>) -> (Vec<u32>, Vec<u32>) {
    let mut times: Vec<(u32, i128)> = Vec::new();
    for at in &list {
        let kernel = &sources.kernels[*at as usize];
        match times.iter_mut().find(|(stream, _)| *stream == kernel.stream) {
            Some((_, time)) => *time += kernel.duration,
            None => times.push((kernel.stream, kernel.duration)),
        }
    }
    if times.len() <= 1 {
        return (list, Vec::new());
    }
    let id = |stream: u32| sources.streams.get(stream as usize);
    let main = times.iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| id(b.0).cmp(&id(a.0)))).map(|(stream, _)| *stream);
    list.into_iter().partition(|at| Some(sources.kernels[*at as usize].stream) == main)
}
