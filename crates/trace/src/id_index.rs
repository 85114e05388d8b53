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
        runs: Runs,
        /// Row by id less the first one of its run, or `u32::MAX`.
        rows: Vec<u32>,
    },
    /// Ids far apart, or texts.
    Sparse(FxHashMap<Id, u32>),
}

/// Ids that follow each other, in runs.
#[derive(Debug)]
struct Runs {
    /// By id; there is one at least.
    all: Vec<Run>,
    /// Equal parts of all ids are `1 << part_bits` long; the number of the run that each begins in, or behind.
    part_bits: u32,
    parts: Vec<u32>,
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
            Table::Dense { runs, rows } => runs.place(id.number()?).map(|at| rows[at]).filter(|row| *row != NO_ROW),
            Table::Sparse(rows) => rows.get(&id).copied(),
        }
    }

    fn new(rows: impl Iterator<Item = (Id, u32)> + Clone, last_wins: bool) -> IdIndex {
        let rows = rows.filter(|(id, _)| id.is_there());
        IdIndex(dense(rows.clone(), last_wins).unwrap_or_else(|| sparse(rows, last_wins)))
    }
}

fn sparse(rows: impl Iterator<Item = (Id, u32)>, last_wins: bool) -> Table {
    let mut table = FxHashMap::default();
    for (id, row) in rows {
        let place = table.entry(id).or_insert(row);
        if last_wins {
            *place = row;
        }
    }
    Table::Sparse(table)
}

/// Nothing where some id is a text, or there would be many places without a row.
fn dense(rows: impl Iterator<Item = (Id, u32)>, last_wins: bool) -> Option<Table> {
    let mut numbers: Vec<(i64, u32)> = Vec::with_capacity(rows.size_hint().1.unwrap_or(0));
    for (id, row) in rows {
        numbers.push((id.number()?, row));
    }
    // Mostly they are in order, or a few runs are.
    numbers.sort_by_key(|(number, _)| *number);
    let runs = runs(&numbers)?;
    let mut table = vec![NO_ROW; runs.last().map_or(0, Run::end)];
    let mut rest = numbers.iter().peekable();
    for run in &runs {
        while let Some((number, row)) = rest.next_if(|(number, _)| *number <= run.last) {
            let place = &mut table[run.place(*number)];
            if last_wins || *place == NO_ROW {
                *place = *row;
            }
        }
    }
    Some(Table::Dense { runs: Runs::new(runs), rows: table })
}

impl Runs {
    fn new(all: Vec<Run>) -> Runs {
        let first = all.first().map_or(0, |run| run.first);
        let length = all.last().map_or(0, |run| run.last.abs_diff(first));
        let part_bits = (u64::BITS - length.leading_zeros()).saturating_sub(all.len().ilog2() + 2);
        let mut at = 0;
        let begins_in = |part: u64| {
            while all.get(at + 1).is_some_and(|next| next.first.abs_diff(first) <= part << part_bits) {
                at += 1;
            }
            at as u32
        };
        let parts = (0..=length >> part_bits).map(begins_in).collect();
        Runs { all, part_bits, parts }
    }

    /// The place of an id in the table of rows.
    #[inline]
    fn place(&self, number: i64) -> Option<usize> {
        let run = match self.all.as_slice() {
            [run] => run,
            runs => {
                let first = runs.first().filter(|run| run.first <= number)?.first;
                let part = (number.abs_diff(first) >> self.part_bits) as usize;
                let from = *self.parts.get(part)? as usize;
                let to = self.parts.get(part + 1).map_or(runs.len(), |next| *next as usize + 1);
                let begun = runs[from..to].partition_point(|run| run.first <= number);
                &runs[from + begun.checked_sub(1)?]
            }
        };
        (run.first..=run.last).contains(&number).then(|| run.place(number))
    }
}

impl Run {
    /// The place of one of its ids.
    fn place(&self, number: i64) -> usize {
        (number - self.first) as usize + self.at as usize
    }

    /// One past its last place.
    fn end(&self) -> usize {
        self.place(self.last) + 1
    }
}

/// The runs of ids in order; nothing where there are none, or there would be many places without a row.
fn runs(numbers: &[(i64, u32)]) -> Option<Vec<Run>> {
    let count = numbers.len() as i64;
    let most = 4 * count + 1024;
    let ((first, _), (last, _)) = (*numbers.first()?, *numbers.last()?);
    if last - first < most {
        return Some(vec![Run { first, last, at: 0 }]);
    }
    let (mut runs, mut places) = (Vec::new(), 0);
    for run in numbers.chunk_by(|(one, _), (next, _)| next - one <= GAP) {
        let (Some((first, _)), Some((last, _))) = (run.first(), run.last()) else { continue };
        runs.push(Run { first: *first, last: *last, at: u32::try_from(places).ok()? });
        places += last - first + 1;
    }
    (places < most && (runs.len() as i64) < 1 + count / 16).then_some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::IdTable;
    use proptest::prelude::*;

    /// Rows whose ids lie in runs, near each other and far apart.
    fn rows() -> impl Strategy<Value = Vec<(Id, u32)>> {
        let run = (0_i64..40, prop_oneof![Just(1_i64), Just(100), Just(1_000_003)], 0_i64..40);
        let ids = prop::collection::vec(run, 1..300)
            .prop_map(|runs| runs.into_iter().map(|(run, apart, at)| (run - 20) * apart * 50 + at));
        ids.prop_map(|ids| ids.map(|id| Id::plain(id.to_string().as_bytes()).unwrap_or(Id::MISSING)).zip(0..).collect())
    }

    proptest! {
        #[test]
        fn every_id_has_its_first_and_its_last_row(rows in rows()) {
            let (first, last) = (IdIndex::first(rows.iter().copied()), IdIndex::last(rows.iter().copied()));
            for (id, _) in &rows {
                let mut same = rows.iter().filter(|(other, _)| other == id).map(|(_, row)| *row);
                prop_assert_eq!(first.get(*id), same.next());
                prop_assert_eq!(last.get(*id), same.next_back().or(first.get(*id)));
            }
            for number in -2100..2100 {
                let id = Id::plain(number.to_string().as_bytes()).unwrap_or(Id::MISSING);
                prop_assert_eq!(first.get(id).is_some(), rows.iter().any(|(other, _)| *other == id));
            }
        }
    }

    #[test]
    fn both_forms_find_the_same_rows() {
        let id = |number: i64| Id::plain(number.to_string().as_bytes()).expect("a small integer");
        let near = [(id(5), 0), (id(7), 1), (Id::MISSING, 2), (id(5), 3)];
        let far = [(id(5), 0), (id(7_000_000_000), 1), (Id::MISSING, 2), (id(5), 3)];
        // Two runs that are far apart.
        let runs = [(id(5), 0), (id(-7_000_000_000), 1), (Id::MISSING, 2), (id(5), 3)];
        let runs: Vec<(Id, u32)> =
            runs.into_iter().chain((100..160).map(|number| (id(number), number as u32))).collect();
        assert!(matches!(IdIndex::first(runs.iter().copied()).0, Table::Dense { runs, .. } if runs.all.len() == 3));
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
