//! Which rows tell most.

use super::Suggestion;
use indexmap::IndexMap;
use perfdb_model::predict::{Point, plan};
use perfdb_query::{Database, Doubt, Layer, Query, ReaderSemantics};

/// The share of places of a slice that are chosen by their distance alone, and how many at least.
const FIRST_SHARE: f64 = 0.1;
const FEWEST_MEASURED: usize = 8;

/// The `count` most telling rows: first those of which nothing is known, those that take longest first; then slice by slice those
/// farthest from all rows until a tenth is known, and after that those that are in most doubt, the most doubtful of all slices first.
pub(super) fn most_telling(database: &Database, all: Vec<(Suggestion, Query)>, count: usize) -> Vec<Suggestion> {
    let predicting = database.reader(ReaderSemantics::Best, Layer::Interpolating);
    let mut unknown = Vec::new();
    let mut slices: IndexMap<(String, u32), Vec<(Suggestion, Doubt)>> = IndexMap::new();
    for (mut row, query) in all {
        let doubt = predicting.lookup(&query).ok().and_then(|answer| answer.prediction()?.doubt.clone());
        match doubt {
            None => unknown.push(row),
            Some(doubt) => {
                row.sigma = Some(doubt.sigma);
                row.disagreement = Some(doubt.disagreement);
                slices.entry((row.kernel_type.clone(), doubt.slice_row)).or_default().push((row, doubt));
            }
        }
    }
    unknown.sort_by(|a, b| b.time_us.total_cmp(&a.time_us).then(b.calls.cmp(&a.calls)));
    let mut queues: Vec<std::vec::IntoIter<Suggestion>> = slices
        .into_iter()
        .map(|((kernel, slice_row), open)| {
            let (rows, doubts): (Vec<Suggestion>, Vec<Doubt>) = open.into_iter().unzip();
            let order = order(database, &kernel, slice_row, &doubts, count);
            let mut rows: Vec<Option<Suggestion>> = rows.into_iter().map(Some).collect();
            order.into_iter().filter_map(|at| rows[at].take()).collect::<Vec<_>>().into_iter()
        })
        .collect();
    let mut chosen = unknown;
    chosen.truncate(count);
    while chosen.len() < count {
        let sigma = |queue: &std::vec::IntoIter<Suggestion>| queue.as_slice().first().and_then(|row| row.sigma);
        let best = queues.iter().enumerate().filter_map(|(at, queue)| Some((at, sigma(queue)?)));
        let Some((best, _)) = best.reduce(|best, next| if next.1 > best.1 { next } else { best }) else { break };
        chosen.extend(queues[best].next());
    }
    chosen
}

/// The open places of a slice, the most telling first.
fn order(database: &Database, kernel: &str, slice_row: u32, doubts: &[Doubt], count: usize) -> Vec<usize> {
    let coordinates: Vec<&[f64]> = doubts.iter().map(|doubt| &*doubt.coordinates).collect();
    let known = known(database, kernel, slice_row);
    let by_distance = ((FIRST_SHARE * (known.len() + doubts.len()) as f64).ceil() as usize).max(FEWEST_MEASURED);
    if known.len() < by_distance {
        let open: Vec<Vec<f64>> = coordinates.iter().map(|at| at.to_vec()).collect();
        return plan::farthest(&known, &open, count);
    }
    let scores = plan::scores(&doubts.iter().collect::<Vec<_>>());
    plan::spread(&scores, &coordinates, count)
}

/// The rows of the slice that has this one, in the coordinates of doubts.
fn known(database: &Database, kernel: &str, slice_row: u32) -> Vec<Vec<f64>> {
    let Ok(Some(slices)) = database.slices(kernel) else { return Vec::new() };
    let own = slices.iter().find_map(|slices| {
        let has_row = |slice: &Vec<(Point, u32, f64)>| slice.iter().any(|(_, line, _)| *line == slice_row);
        Some((slices, slices.slices.iter().position(has_row)?))
    });
    let Some((slices, slice)) = own else { return Vec::new() };
    // As the doubts: coordinates are in the lengths that were learnt from small slices together.
    let table = slices.table();
    let Some((model, _)) = table.model(slice) else { return Vec::new() };
    let mut known: Vec<Vec<f64>> =
        slices.slices[slice].iter().filter_map(|(place, ..)| model.coordinates(place)).map(|at| at.to_vec()).collect();
    known.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    known.dedup();
    known
}
