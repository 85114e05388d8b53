//! What one layer of the model spends its time in.

use rustc_hash::FxHashMap;

use super::View;
use super::result::{LayerFamily, LayersRow};
use super::sums::Sums;
use crate::context::passes::Boundaries;
use crate::family::Family;
use crate::names::NameId;
use crate::time::{Picoseconds, microseconds, milliseconds};
use crate::totals::Sum;
use crate::trace::Trace;

pub(super) fn of(trace: &Trace, view: &View<'_>, sums: &Sums) -> Option<LayersRow> {
    let count = trace.layer_count.filter(|_| view.count() > 0)?;
    let mut families: FxHashMap<&'static str, (Sum, FxHashMap<NameId, Picoseconds>)> = FxHashMap::default();
    let (mut inside, mut between) = (0, 0);
    for (group, [outside, in_layers]) in trace.groups.iter().zip(&sums.groups) {
        between += outside.time;
        if in_layers.count == 0 {
            continue;
        }
        inside += in_layers.time;
        let family = Family::of(&trace.operations[group.operation as usize]).label();
        let (sum, names) = families.entry(family).or_default();
        sum.merge(*in_layers);
        *names.entry(group.name).or_default() += in_layers.time;
    }
    // Of the whole trace: those of all passes, which are not steps.
    let is_whole = trace.boundaries == Boundaries::Whole;
    let runs = if is_whole { trace.layer_runs as f64 } else { (count.runs as usize * view.count()) as f64 };
    let mut rows: Vec<_> = families.into_iter().collect();
    rows.sort_unstable_by(|(a, first), (b, second)| second.0.time.cmp(&first.0.time).then_with(|| a.cmp(b)));
    let kind: Vec<&str> = rows.iter().take(3).map(|(family, _)| *family).collect();
    Some(LayersRow {
        count: count.layers,
        runs: count.runs,
        kind: kind.join(" + "),
        per_layer_ms: milliseconds(inside) / runs,
        between_layers_ms: milliseconds(between) / view.count() as f64,
        rows: rows
            .into_iter()
            .map(|(family, (sum, names))| {
                let mut names: Vec<(Picoseconds, &str)> =
                    names.into_iter().map(|(name, time)| (time, trace.name(name))).collect();
                names.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
                LayerFamily {
                    family: family.to_owned(),
                    us: microseconds(sum.time) / runs,
                    kernels: sum.count as f64 / runs,
                    names: names.into_iter().take(3).map(|(_, name)| name.to_owned()).collect(),
                }
            })
            .collect(),
    })
}
