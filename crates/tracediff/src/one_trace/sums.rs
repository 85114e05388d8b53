//! Sums over the kernels and copies of the steps that are looked at.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::View;
use super::facts::Facts;
use super::result::{ClassRow, CollectiveRow, KernelRow};
use crate::classify::{COLLECTIVES, COMMUNICATION};
use crate::context::OUTSIDE;
use crate::names::NameId;
use crate::time::{Picoseconds, milliseconds};
use crate::totals::Sum;
use crate::trace::Trace;

pub(super) struct Sums {
    pub(super) kernels: Sum,
    pub(super) copies: Sum,
    pub(super) names: FxHashMap<NameId, Sum>,
    /// Of the kernels of one name and class: outside of layers, and in layers.
    pub(super) groups: Vec<[Sum; 2]>,
    classes: Vec<Sum>,
    own: Vec<Picoseconds>,
    /// Kinds of collectives by what the host asked for.
    kinds: BTreeMap<&'static str, Sum>,
    /// Kernels and copies that start in each window.
    pub(super) of_windows: Vec<(u64, u64)>,
}

impl Sums {
    pub(super) fn new(trace: &Trace, facts: &Facts, view: &View<'_>) -> Sums {
        let mut sums = Sums {
            kernels: Sum::default(),
            copies: Sum::default(),
            names: FxHashMap::default(),
            groups: vec![[Sum::default(); 2]; trace.groups.len()],
            classes: vec![Sum::default(); facts.classes.len()],
            own: vec![0; facts.classes.len()],
            kinds: BTreeMap::new(),
            of_windows: vec![(0, 0); facts.own.len()],
        };
        // Kernels are many, groups are few: what else is wanted is summed up from these.
        for (at, (kernel, context)) in trace.kernels.iter().zip(&trace.contexts).enumerate() {
            let Some(window) = view.of_kernel(at) else { continue };
            sums.of_windows[window].0 += 1;
            sums.groups[context.group as usize][usize::from(context.layer != OUTSIDE)].add(kernel.duration);
        }
        let groups = trace.groups.iter().zip(&sums.groups);
        for (group, sum) in groups.flat_map(|(group, sums)| sums.map(|sum| (group, sum))) {
            if sum.count > 0 {
                sums.kernels.merge(sum);
                sums.names.entry(group.name).or_default().merge(sum);
                sums.classes[group.operation as usize].merge(sum);
            }
        }
        for (kernel, kind) in facts.kinds.iter().filter(|(kernel, _)| view.of_kernel(*kernel as usize).is_some()) {
            sums.kinds.entry(kind).or_default().add(trace.kernels.at(*kernel as usize).duration);
        }
        for copy in &facts.copies {
            let Some(window) = view.chosen_window(copy.window) else { continue };
            sums.of_windows[window].1 += 1;
            sums.copies.add(copy.duration);
        }
        for window in &view.chosen {
            sums.own.iter_mut().zip(&facts.own[*window]).for_each(|(sum, own)| *sum += own);
        }
        sums
    }

    pub(super) fn classes(&self, facts: &Facts) -> Vec<ClassRow> {
        let rows = facts.classes.iter().zip(&self.classes).zip(&self.own);
        let there = rows.filter(|((_, sum), own)| sum.count > 0 || **own > 0);
        let mut rows: Vec<ClassRow> = there
            .map(|((name, sum), own)| ClassRow {
                class: name.clone(),
                kernels: sum.count,
                total_ms: milliseconds(sum.time),
                own_ms: milliseconds(*own),
                collectives: if name == COMMUNICATION { self.collectives() } else { Vec::new() },
                communicates: COLLECTIVES.contains(&name.as_str()),
            })
            .collect();
        rows.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms).then_with(|| a.class.cmp(&b.class)));
        rows
    }

    /// By total.
    fn collectives(&self) -> Vec<CollectiveRow> {
        let row = |(class, sum): (&&'static str, &Sum)| CollectiveRow {
            class,
            kernels: sum.count,
            total_ms: milliseconds(sum.time),
        };
        let mut rows: Vec<CollectiveRow> = self.kinds.iter().map(row).collect();
        rows.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
        rows
    }

    pub(super) fn top_kernels(&self, trace: &Trace, top: Option<usize>) -> Vec<KernelRow> {
        let mut rows: Vec<(&str, Sum)> = self.names.iter().map(|(name, sum)| (trace.name(*name), *sum)).collect();
        rows.sort_unstable_by(|a, b| b.1.time.cmp(&a.1.time).then_with(|| a.0.cmp(b.0)));
        rows.truncate(top.unwrap_or(usize::MAX));
        let row = |(name, sum): (&str, Sum)| KernelRow {
            name: name.to_owned(),
            count: sum.count,
            total_ms: milliseconds(sum.time),
        };
        rows.into_iter().map(row).collect()
    }
}
