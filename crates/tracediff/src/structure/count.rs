//! How many layers a model has, where a trace shows it for certain.
//!
//! Convolutions, tables of embeddings and optimizers repeat as well. A layer of a model mixes tokens or states: it runs attention, its
//! softmax, or a state-space kernel. In training that is the forward layer; the backward one is the same layer once more.

use perfdb_trace::sequence::Layer;

use super::Block;
use crate::family::Family;

/// The layers of each pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LayerCount {
    /// Layers of the model.
    pub(crate) layers: u64,
    /// How many run in a pass; more where the model, or a part of it, runs several times.
    pub(crate) runs: u64,
}

/// Part of the passes, in tenths, that run the same number of layers where the number is certain.
const ALIKE: usize = 9;

/// Gathers the layers of passes.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    of_passes: Vec<Option<LayerCount>>,
}

impl Counter {
    pub(super) fn push(&mut self, count: LayerCount, is_certain: bool) {
        self.of_passes.push(is_certain.then_some(count));
    }

    /// The layers of at least 90 % of the passes; nothing where passes differ by more.
    pub(super) fn count(mut self) -> Option<LayerCount> {
        let passes = self.of_passes.len();
        self.of_passes.sort_unstable();
        let alike = self.of_passes.chunk_by(|one, other| one == other);
        let most = alike.max_by_key(|passes| passes.len())?;
        most[0].filter(|_| 10 * most.len() >= ALIKE * passes)
    }
}

/// Which kinds of layers of a sequence are layers of a model.
pub(super) struct OfModel {
    units: Vec<usize>,
    /// Those on the way back.
    backward: Vec<usize>,
}

impl OfModel {
    /// Whether layers of a kind count. Where none is known to be of a model, all do.
    pub(super) fn counts(&self, unit: usize) -> bool {
        self.units.is_empty() || self.units.contains(&unit)
    }

    /// Whether layers of a model, forward and backward, take at least half of the time.
    pub(super) fn is_most(&self, layers: &[Layer], blocks: &[Block]) -> bool {
        let time = |blocks: &[Block]| blocks.iter().map(|block| u128::from(block.time)).sum::<u128>();
        let of_model =
            layers.iter().filter(|layer| self.units.contains(&layer.unit) || self.backward.contains(&layer.unit));
        let inside: u128 = of_model.map(|layer| time(&blocks[layer.entries.clone()])).sum();
        !self.units.is_empty() && 2 * inside >= time(blocks)
    }
}

/// The kinds whose first layer mixes tokens or states, and not on the way back. `fact` gives the family and name of a kernel.
pub(super) fn of_model<'n>(layers: &[Layer], blocks: &[Block], fact: impl Fn(usize) -> (Family, &'n str)) -> OfModel {
    let mut found = OfModel { units: Vec::new(), backward: Vec::new() };
    let mut seen = Vec::new();
    let mixes =
        |(family, _): &(Family, &str)| matches!(family, Family::Attention | Family::StateSpace | Family::Softmax);
    for layer in layers {
        if seen.contains(&layer.unit) {
            continue;
        }
        seen.push(layer.unit);
        let kernels = blocks[layer.entries.clone()].iter().flat_map(|block| block.kernels.clone());
        let mut mixing = kernels.map(&fact).filter(mixes).peekable();
        if mixing.peek().is_some() {
            let is_backward = mixing.any(|(_, name)| is_backward(name));
            if is_backward { &mut found.backward } else { &mut found.units }.push(layer.unit);
        }
    }
    found
}

fn is_backward(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["bwd", "backward"].iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(passes: &[Option<(u64, u64)>]) -> Option<LayerCount> {
        let mut counter = Counter::default();
        for pass in passes {
            let (layers, runs) = pass.unwrap_or_default();
            counter.push(LayerCount { layers, runs }, pass.is_some());
        }
        counter.count()
    }

    #[test]
    fn one_pass_of_ten_may_differ() {
        let alike = [Some((57, 228)); 9];
        let found = Some(LayerCount { layers: 57, runs: 228 });
        assert_eq!(counted(&[alike.to_vec(), vec![Some((56, 224))]].concat()), found);
        assert_eq!(counted(&[alike.to_vec(), vec![None]].concat()), found);
        assert_eq!(counted(&[alike.to_vec(), vec![None, Some((56, 224))]].concat()), None);
        assert_eq!(counted(&[None, None]), None);
        assert_eq!(counted(&[]), None);
    }

    #[test]
    fn forward_layers_that_mix_count() {
        use Family::{Activation, Attention, Elementwise, Gemm, Norm, Softmax};
        let block = |at: usize, family| Block { family, kernels: at..at + 1, time: 1 };
        let of = |kernels: &[(Family, &'static str)]| {
            let blocks: Vec<Block> = kernels.iter().enumerate().map(|(at, (family, _))| block(at, *family)).collect();
            let layer = |unit: usize| Layer { entries: 3 * unit..3 * unit + 3, unit };
            let layers: Vec<Layer> = (0..kernels.len() / 3).map(layer).collect();
            let found = of_model(&layers, &blocks, |at| kernels[at]);
            (found.is_most(&layers, &blocks), (0..layers.len()).map(|unit| found.counts(unit)).collect::<Vec<_>>())
        };
        let named = |families: [Family; 3]| families.map(|family| (family, "flash_fwd")).to_vec();
        let forward = named([Norm, Gemm, Attention]);
        let backward = vec![(Norm, "norm"), (Attention, "flash_Bwd_dq_dk_dv"), (Gemm, "gemm")];
        let other = named([Gemm, Elementwise, Activation]);
        let unfused = named([Gemm, Softmax, Gemm]);
        assert_eq!(of(&[forward.clone(), backward.clone(), other.clone()].concat()), (true, vec![true, false, false]));
        assert_eq!(of(&[other.clone(), unfused.clone()].concat()), (true, vec![false, true]));
        assert_eq!(
            of(&[other.clone(), other.clone(), unfused].concat()),
            (false, vec![false, false, true]),
            "too little"
        );
        assert_eq!(of(&[other.clone(), other].concat()), (false, vec![true, true]), "convolutions, say");
        assert_eq!(of(&backward), (false, vec![true]));
    }
}
