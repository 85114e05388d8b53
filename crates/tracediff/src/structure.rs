//! The structure of a trace: what runs on the main stream of each pass and device, as blocks, and the layers that these
//! repeat in.

mod blocks;
mod count;
mod numbers;

use std::ops::Range;

use perfdb_trace::numbering::Numbering;
use perfdb_trace::sequence::{Entry, Units};
use rustc_hash::FxHashMap;

pub(crate) use blocks::{Block, Piece, Role, blocks};
pub(crate) use count::{Counter, LayerCount};

use crate::context::OUTSIDE;
use crate::context::classes::Classes;
use crate::context::passes::KernelPass;
use crate::corrections::Corrections;
use crate::family::Family;
use crate::names::Names;
use crate::rows::KernelRows;
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
    /// Whether what has a number is layers of a model for certain, which take most of the time.
    is_certain: bool,
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
    /// Number from 0 in its forward pass; nothing of other work that repeats between the layers of the model.
    pub(crate) number: Option<u32>,
}

/// What a structure is found from.
pub(crate) struct Sources<'a> {
    pub(crate) kernels: &'a KernelRows,
    pub(crate) order: &'a TimeOrder,
    pub(crate) passes: &'a [KernelPass],
    pub(crate) classes: &'a Classes,
    pub(crate) names: &'a Names,
    pub(crate) corrections: &'a Corrections,
    /// Ids of the streams as texts, for ties.
    pub(crate) streams: &'a [String],
    /// Whether nothing says where passes begin, so that the trace may begin and end within one.
    pub(crate) is_cut: bool,
    /// Passes that lack kernels, ascending.
    pub(crate) incomplete: &'a [u32],
}

/// The layers of a trace.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Per kernel its layer or [`OUTSIDE`].
    pub(crate) of_kernels: Vec<u32>,
    /// Numbers that layers have.
    pub(crate) numbers: u64,
    /// How many layers each pass runs, where that is certain.
    pub(crate) count: Option<LayerCount>,
    /// How many layers all passes run.
    pub(crate) runs: u64,
}

impl Layers {
    fn new(kernels: usize) -> Layers {
        Layers { of_kernels: vec![OUTSIDE; kernels], numbers: 0, count: None, runs: 0 }
    }
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

/// The layers of the kernels, and the structure where it is kept; else one pass of it is held at a time.
pub(crate) fn find(sources: &Sources<'_>, keeps: bool) -> (Option<Structure>, Layers) {
    let (mut layers, mut counter) = (Layers::new(sources.kernels.len()), Counter::default());
    let mut sequences = Vec::new();
    let units = each_sequence(sources, |sequence| {
        sequence.note_layers(sources, &mut layers, &mut counter);
        if keeps {
            sequences.push(sequence);
        }
    });
    (keeps.then_some(Structure { sequences, units }), Layers { count: counter.count(), ..layers })
}

/// The passes on their devices, one after the other; the families of the blocks of each kind of layer.
fn each_sequence(sources: &Sources<'_>, mut take: impl FnMut(Sequence)) -> Vec<Vec<u8>> {
    let facts = facts(&sources.classes.groups, &sources.classes.operations, sources.names);
    let mut instances: Numbering<(u32, u32)> = Numbering::default();
    let mut lists: Vec<Vec<u32>> = Vec::new();
    for at in sources.order.numbers(sources.kernels.len()) {
        let instance = instances.number((sources.passes[at].pass, sources.kernels.at(at).device)) as usize;
        if instance == lists.len() {
            lists.push(Vec::new());
        }
        lists[instance].push(at as u32);
    }
    let mut units = Units::default();
    let mut known: FxHashMap<Vec<u8>, Vec<perfdb_trace::sequence::Layer>> = FxHashMap::default();
    for list in lists {
        let [kernels, side_kernels] = by_stream(list, sources).map(|mut list| {
            // Where times are whole microseconds several kernels begin at one time, and the order of a file need not be that of their launches.
            list.sort_by_key(|at| {
                let kernel = sources.kernels.at(*at as usize);
                (kernel.start, kernel.correlation)
            });
            list
        });
        let pieces = |kernels: &[u32]| -> Vec<Piece> {
            let piece = |at: &u32| {
                let kernel = sources.kernels.at(*at as usize);
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
        let fact = |at: usize| {
            let kernel = kernels[at] as usize;
            (facts[sources.classes.of_kernels[kernel] as usize].0, sources.names.get(sources.kernels.at(kernel).name))
        };
        let of_model = count::of_model(&layers, &found, fact);
        let is_certain = of_model.is_most(&layers, &found);
        let layers = numbers::numbered(&layers, lengths, |unit| of_model.counts(unit), sources.is_cut);
        let side_blocks = blocks(&pieces(&side_kernels));
        take(Sequence { kernels, blocks: found, layers, is_certain, side_kernels, side_blocks });
    }
    (0..units.len()).map(|unit| units.symbols(unit).to_vec()).collect()
}

impl Sequence {
    /// Notes the layer of each kernel that is in one, and how many there are.
    fn note_layers(&self, sources: &Sources<'_>, found: &mut Layers, counter: &mut Counter) {
        let Sources { kernels, passes, incomplete, .. } = sources;
        let start = |at: u32| kernels.at(at as usize).start;
        let mut counted = LayerCount::default();
        for layer in &self.layers {
            let Some(number) = layer.number else { continue };
            counted.layers = counted.layers.max(u64::from(number) + 1);
            counted.runs += 1;
            for kernel in &self.kernels[self.kernels_of(layer)] {
                found.of_kernels[*kernel as usize] = number;
            }
        }
        found.numbers = found.numbers.max(counted.layers);
        found.runs += counted.runs;
        let pass = self.kernels.first().map_or(OUTSIDE, |first| passes[*first as usize].pass);
        if pass != OUTSIDE && incomplete.binary_search(&pass).is_err() {
            counter.push(counted, self.is_certain);
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
            if let Some(layer) = now
                && let Some(number) = layer.number
            {
                let last = self.kernels[self.kernels_of(layer).end - 1];
                if start(*kernel) < kernels.at(last as usize).end() {
                    found.of_kernels[*kernel as usize] = number;
                }
            }
        }
    }

    /// Positions of the kernels of a layer.
    pub(crate) fn kernels_of(&self, layer: &PlacedLayer) -> Range<usize> {
        self.blocks[layer.blocks.start].kernels.start..self.blocks[layer.blocks.end - 1].kernels.end
    }
}

/// Kernels of the stream with most kernel time (the smaller id as text on ties), and all others.
fn by_stream(list: Vec<u32>, sources: &Sources<'_>) -> [Vec<u32>; 2] {
    let mut times: Vec<(u32, i128)> = Vec::new();
    for at in &list {
        let kernel = sources.kernels.at(*at as usize);
        match times.iter_mut().find(|(stream, _)| *stream == kernel.stream) {
            Some((_, time)) => *time += kernel.duration,
            None => times.push((kernel.stream, kernel.duration)),
        }
    }
    if times.len() <= 1 {
        return [list, Vec::new()];
    }
    let id = |stream: u32| sources.streams.get(stream as usize);
    let main = times.iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| id(b.0).cmp(&id(a.0)))).map(|(stream, _)| *stream);
    let (main, others) = list.into_iter().partition(|at| Some(sources.kernels.at(*at as usize).stream) == main);
    [main, others]
}
