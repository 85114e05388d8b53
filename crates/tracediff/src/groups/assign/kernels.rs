//! The group of every kernel, once the groups are known.

use rustc_hash::FxHashMap;

use super::stretch::Stretch;
use super::{Assignment, Group, NONE, carried_over};
use crate::family::Family;
use crate::groups::strip::align_items;
use crate::groups::typical;
use crate::structure::{Block, Structure};
use crate::trace::Trace;

impl Assignment {
    /// The group of every kernel of both traces.
    pub(in crate::groups) fn kernels(&mut self, traces: [&Trace; 2], structures: [&Structure; 2]) -> [Vec<u32>; 2] {
        // The numbers of words have to be those of the typical layers.
        let mut words = std::mem::take(&mut self.words);
        let mut found = traces.map(|trace| vec![NONE; trace.kernels.len()]);
        for side in 0..2 {
            let mut odd_layers: FxHashMap<(usize, Vec<Family>), Vec<u32>> = FxHashMap::default();
            for sequence in &structures[side].sequences {
                let mut of_blocks = vec![NONE; sequence.blocks.len()];
                for layer in sequence.layers.iter().filter(|_| self.has_layers) {
                    let blocks = &sequence.blocks[layer.blocks.clone()];
                    let families: Vec<Family> = blocks.iter().map(|block| block.family).collect();
                    let typical = self.typical[side].iter().find(|typical| typical.unit == layer.unit);
                    let Some(typical) = typical else { continue };
                    let known = self.places[side].get(&layer.unit).map(Vec::as_slice).unwrap_or_default();
                    let same = typical.items.iter().map(|item| item.family).eq(families.iter().copied());
                    let places = &mut of_blocks[layer.blocks.clone()];
                    if same {
                        places.copy_from_slice(known);
                        continue;
                    }
                    let odd = odd_layers.entry((layer.unit, families)).or_insert_with(|| {
                        let items = typical::items(traces[side], &mut words, &sequence.kernels, blocks);
                        let groups = align_items(&items, &typical.items).groups;
                        carried_over(&items, &typical.items, &groups, known)
                    });
                    places.copy_from_slice(odd);
                }
                let mut of_side = vec![NONE; sequence.side_blocks.len()];
                for (stretch, blocks) in self.stretches_of(side, sequence) {
                    let (all, places) = match stretch {
                        Stretch::Side => (&sequence.side_blocks, &mut of_side),
                        _ => (&sequence.blocks, &mut of_blocks),
                    };
                    let known = self.stretches[side].get(&stretch);
                    let families = || blocks.iter().map(|at| all[*at].family);
                    match known.filter(|(known, _)| known.iter().copied().eq(families())) {
                        Some((_, groups)) => blocks.iter().zip(groups).for_each(|(at, group)| places[*at] = *group),
                        None => {
                            for at in &blocks {
                                let key = (Some(stretch), all[*at].family);
                                places[*at] = self.largest[side].get(&key).copied().unwrap_or(NONE);
                            }
                        }
                    }
                }
                self.rest(side, &sequence.blocks, &mut of_blocks);
                self.rest(side, &sequence.side_blocks, &mut of_side);
                let main =
                    sequence.blocks.iter().zip(&of_blocks).map(|(block, group)| (&sequence.kernels, block, group));
                let others = sequence.side_blocks.iter().zip(&of_side);
                let others = others.map(|(block, group)| (&sequence.side_kernels, block, group));
                for (kernels, block, group) in main.chain(others) {
                    kernels[block.kernels.clone()].iter().for_each(|kernel| found[side][*kernel as usize] = *group);
                }
            }
        }
        self.words = words;
        found
    }

    /// Blocks without a group go to the largest one of their family, or to what is left over of it.
    fn rest(&mut self, side: usize, blocks: &[Block], places: &mut [u32]) {
        for (block, place) in blocks.iter().zip(places).filter(|(_, place)| **place == NONE) {
            *place = match self.largest[side].get(&(None, block.family)) {
                Some(group) => *group,
                None => {
                    let name = format!("rest {}", block.family.code());
                    let known = self.groups.iter().position(|group| group.name == name);
                    known.unwrap_or_else(|| {
                        self.groups.push(Group { name, family: block.family, swallowed_by: None });
                        self.groups.len() - 1
                    }) as u32
                }
            };
        }
    }
}
