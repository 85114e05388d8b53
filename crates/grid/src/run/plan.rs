//! Which candidates tell most about the others, in place of a draw.
//!
//! A candidate is a place: the dimensions of its inputs and the numbers among the cells that it sets. Candidates with as many dimensions and
//! the same data types are of one form; what is known are the rows of that form with a duration.

use indexmap::IndexMap;
use perfdb_model::predict::{Point, Rows, plan};
use perfdb_store::columns::{INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, MEASURED_DURATION, PROFILED_DURATION};
use perfdb_store::duration::{is_valid, number};
use perfdb_store::table::RowStream;
use rustc_hash::FxHashSet;

use crate::error::Error;
use crate::table::growth::Growth;

/// What candidates of one kind have in common: the dimensions of each input, and the data types.
type Form = (Vec<usize>, String);

/// Numbers and duration of a measured row.
type Measured = (Vec<f64>, f64);

/// Candidates of one form: their positions and their numbers.
#[derive(Default)]
struct Open {
    positions: Vec<u64>,
    numbers: Vec<Vec<f64>>,
}

/// The positions of the `count` candidates that tell most, out of these; the forms take turns.
pub(super) fn most_telling(growth: &Growth<'_>, positions: &[u64], count: usize) -> Result<Vec<u64>, Error> {
    let columns = growth.enumeration.columns();
    let own_types = columns.iter().position(|column| *column == INPUT_TYPES);
    let own_numbers: Vec<usize> =
        (0..columns.len()).filter(|at| ![INPUT_TYPES, INPUT_FORMATS].contains(&columns[*at])).collect();
    let mut forms: IndexMap<Form, Open> = IndexMap::new();
    growth.each_candidate(positions, |position, candidate| {
        let types = own_types.map_or_else(|| growth.head.cell(INPUT_TYPES), |at| &candidate.cells[at]);
        let ranks = candidate.inputs.iter().map(<[i128]>::len).collect();
        let sizes = candidate.inputs.iter().flatten().map(|size| *size as f64);
        let open = forms.entry((ranks, unquoted(types).to_owned())).or_default();
        open.positions.push(position);
        open.numbers.push(sizes.chain(own_numbers.iter().map(|at| mean(&candidate.cells[*at]))).collect());
    })?;
    let own_columns: Vec<&str> = own_numbers.iter().map(|at| columns[*at]).collect();
    let known = known(growth, &own_columns)?;
    let none = Vec::new();
    let queues: Vec<Vec<u64>> =
        forms.iter().map(|(form, open)| order(open, known.get(form).unwrap_or(&none), count)).collect();
    let turns = (0..count).flat_map(|turn| queues.iter().filter_map(move |queue| queue.get(turn).copied()));
    Ok(turns.take(count).collect())
}

/// Numbers and durations of the measured rows of a table, by form.
fn known(growth: &Growth<'_>, own_columns: &[&str]) -> Result<IndexMap<Form, Vec<Measured>>, Error> {
    let bytes = growth.read()?;
    let mut rows = RowStream::new(growth.path, &bytes)?;
    let position = |name: &str| growth.head.column(name);
    let durations = [MEASURED_DURATION, PROFILED_DURATION].map(position);
    let own_columns: Vec<Option<usize>> = own_columns.iter().map(|name| position(name)).collect();
    let (shapes, types) = (position(INPUT_SHAPES), position(INPUT_TYPES));
    let mut known: IndexMap<Form, Vec<Measured>> = IndexMap::new();
    while let Some(row) = rows.next_row()? {
        let cells: Vec<&str> = row.cells().collect();
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at).copied()).unwrap_or_default();
        let duration_us = durations.iter().map(|at| number(cell(*at))).find(|us| is_valid(*us));
        let (Some(duration_us), Some(shapes)) = (duration_us, dimensions(cell(shapes))) else { continue };
        let ranks = shapes.iter().map(Vec::len).collect();
        let numbers = shapes.into_iter().flatten().chain(own_columns.iter().map(|at| mean(cell(*at)))).collect();
        known.entry((ranks, unquoted(cell(types)).to_owned())).or_default().push((numbers, duration_us));
    }
    Ok(known)
}

/// The candidates of one form, the most telling first.
fn order(open: &Open, known: &[Measured], count: usize) -> Vec<u64> {
    let axes = axes(&open.numbers);
    let place = |numbers: &[f64]| Point::sizes(&axes.iter().map(|axis| numbers[*axis]).collect::<Vec<_>>());
    let places: Vec<Point> = open.numbers.iter().map(|numbers| place(numbers)).collect();
    let Some(first) = places.first() else { return Vec::new() };
    let mut rows = Rows::new(first.axes.len());
    for (line, (numbers, duration_us)) in known.iter().enumerate() {
        rows.push(line as u32, &place(numbers), *duration_us, None);
    }
    plan::next(&rows, &places, Some(0), count).into_iter().map(|at| open.positions[at]).collect()
}

/// The numbers by which places differ, the one with most values first; of those that are always equal the first counts.
fn axes(places: &[Vec<f64>]) -> Vec<usize> {
    let length = places.first().map_or(0, Vec::len);
    let is_same = |a: usize, b: usize| places.iter().all(|place| place[a] == place[b]);
    let mut axes: Vec<(usize, usize)> = Vec::new();
    for axis in 0..length {
        let values: FxHashSet<u64> = places.iter().map(|place| place[axis].to_bits()).collect();
        if values.len() > 1 && !axes.iter().any(|(known, _)| is_same(*known, axis)) {
            axes.push((axis, values.len()));
        }
    }
    axes.sort_by_key(|(_, values)| std::cmp::Reverse(*values));
    axes.into_iter().map(|(axis, _)| axis).collect()
}

fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('"')
}

/// The dimensions of each slot; `None` where one is none.
fn dimensions(cell: &str) -> Option<Vec<Vec<f64>>> {
    let slot = |slot: &str| match slot.trim() {
        "" | "()" => Some(Vec::new()),
        slot => slot.split(',').map(|size| size.trim().parse::<u64>().ok().map(|size| size as f64)).collect(),
    };
    unquoted(cell).split(';').map(slot).collect()
}

/// The number in a cell, or the mean of those in its list; 0 where there is none.
fn mean(cell: &str) -> f64 {
    let items: Vec<f64> = unquoted(cell).split([',', ';']).map(number).collect();
    items.iter().sum::<f64>() / items.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_what_differs_once() {
        let places = [[16.0, 512.0, 512.0, 7.0], [32.0, 512.0, 512.0, 7.0], [64.0, 256.0, 256.0, 7.0]];
        assert_eq!(axes(&places.map(Vec::from)), [0, 1]);
        assert_eq!(axes(&[vec![1.0]]), Vec::<usize>::new());
    }

    #[test]
    fn cells_are_numbers() {
        assert_eq!(dimensions("\"16,512;;4\""), Some(vec![vec![16.0, 512.0], vec![], vec![4.0]]));
        assert_eq!(dimensions("16,x"), None);
        assert_eq!((mean("128,256"), mean("TND"), mean("\"7\"")), (192.0, 0.0, 7.0));
    }

    #[test]
    fn what_is_far_from_measured_rows_comes_first() {
        let open = Open {
            positions: (10..20).collect(),
            numbers: (0..10).map(|power| vec![f64::from(1 << power), 512.0]).collect(),
        };
        assert_eq!(order(&open, &[(vec![1.0, 512.0], 3.0)], 3), [19, 15, 17]);
    }
}
