//! From ids to rows. Ids are mostly consecutive integers, for which a plain list does.

use rustc_hash::FxHashMap;

use crate::id::Id;

/// Finds the row with an id.
#[derive(Debug)]
pub struct IdIndex(Table);

#[derive(Debug)]
enum Table {
    /// Ids that mostly follow each other, perhaps with gaps between the runs of several steps or processes.
    Dense {
        /// By id.
        runs: Vec<Run>,
        /// Row by id less the first one of its run, or `u32::MAX`.
        rows: Vec<u32>,
    },
    /// Ids far apart, or texts.
    Sparse(FxHashMap<Id, u32>),
}

/// Ids that follow each other.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: i64,
    last: i64,
    /// Where its rows begin.
    at: u32,
}

const NO_ROW: u32 = u32::MAX;

/// A larger gap between ids ends a run.
const GAP: i64 = 64;

impl IdIndex {
    /// Of equal ids the first row wins.
    pub fn first(rows: impl Iterator<Item = (Id, u32)> + Clone) -> IdIndex {
        IdIndex::new(rows, false)
    }

    /// Of equal ids the last row wins.
    pub fn last(rows: impl Iterator<Item = (Id, u32)> + Clone) -> IdIndex {
        IdIndex::new(rows, true)
    }

    /// The row with an id.
    #[inline]
    pub fn get(&self, id: Id) -> Option<u32> {
        match &self.0 {
            Table::Dense { runs, rows } => place(runs, id.number()?).map(|at| rows[at]).filter(|row| *row != NO_ROW),
            Table::Sparse(rows) => rows.get(&id).copied(),
        }
    }

    fn new(rows: impl Iterator<Item = (Id, u32)> + Clone, last_wins: bool) -> IdIndex {
        let rows = rows.filter(|(id, _)| id.is_there());
        let Some(runs) = runs(rows.clone().map(|(id, _)| id)) else {
            let mut table = FxHashMap::default();
            for (id, row) in rows {
                let place = table.entry(id).or_insert(row);
                if last_wins {
                    *place = row;
                }
            }
            return IdIndex(Table::Sparse(table));
        };
        let mut table = vec![NO_ROW; runs.last().map_or(0, Run::end)];
        for (id, row) in rows {
            let Some(at) = id.number().and_then(|number| place(&runs, number)) else { continue };
            if last_wins || table[at] == NO_ROW {
                table[at] = row;
            }
        }
        IdIndex(Table::Dense { runs, rows: table })
    }
}

/// The place of an id in the table of rows.
#[inline]
fn place(runs: &[Run], number: i64) -> Option<usize> {
    let run = match runs {
        [run] => run,
        runs => &runs[runs.partition_point(|run| run.first <= number).checked_sub(1)?],
    };
    (run.first..=run.last).contains(&number).then(|| (number - run.first) as usize + run.at as usize)
}

impl Run {
    /// One past its last row.
    fn end(&self) -> usize {
        self.at as usize + (self.last - self.first) as usize + 1
    }
}

/// The runs of ids; nothing where some id is a text, or there would be many places without a row.
fn runs(ids: impl Iterator<Item = Id> + Clone) -> Option<Vec<Run>> {
    let (mut count, mut first, mut last) = (0, i64::MAX, i64::MIN);
    for id in ids.clone() {
        let number = id.number()?;
        (count, first, last) = (count + 1, first.min(number), last.max(number));
    }
    if count == 0 {
        return None;
    }
    let most = 4 * count + 1024;
    if last - first < most {
        return Some(vec![Run { first, last, at: 0 }]);
    }
    let mut numbers: Vec<i64> = ids.filter_map(Id::number).collect();
    // Mostly they are in order, or a few runs are.
    numbers.sort();
    let (mut runs, mut places) = (Vec::new(), 0);
    for run in numbers.chunk_by(|one, next| next - one <= GAP) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        runs.push(Run { first: *first, last: *last, at: u32::try_from(places).ok()? });
        places += last - first + 1;
    }
    (places < most && (runs.len() as i64) < 1 + count / 16).then_some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::IdTable;

    #[test]
    fn both_forms_find_the_same_rows() {
        let id = |number: i64| Id::plain(number.to_string().as_bytes()).expect("a small integer");
        let near = [(id(5), 0), (id(7), 1), (Id::MISSING, 2), (id(5), 3)];
        let far = [(id(5), 0), (id(7_000_000_000), 1), (Id::MISSING, 2), (id(5), 3)];
        // Two runs that are far apart.
        let runs = [(id(5), 0), (id(-7_000_000_000), 1), (Id::MISSING, 2), (id(5), 3)];
        let runs: Vec<(Id, u32)> =
            runs.into_iter().chain((100..160).map(|number| (id(number), number as u32))).collect();
        assert!(matches!(IdIndex::first(runs.iter().copied()).0, Table::Dense { runs, .. } if runs.len() == 3));
        for rows in [near.as_slice(), &far, &runs] {
            let first = IdIndex::first(rows.iter().copied());
            let last = IdIndex::last(rows.iter().copied());
            assert_eq!((first.get(id(5)), last.get(id(5))), (Some(0), Some(3)));
            assert_eq!((first.get(rows[1].0), last.get(rows[1].0)), (Some(1), Some(1)));
            assert_eq!((first.get(id(6)), first.get(id(-1)), first.get(Id::MISSING)), (None, None, None));
        }
        let mut table = IdTable::default();
        let text = table.text("x");
        assert_eq!(IdIndex::last([(text, 4), (id(1), 5)].into_iter()).get(text), Some(4));
    }
}
