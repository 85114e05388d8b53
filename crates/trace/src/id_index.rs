//! From ids to rows. Ids are mostly consecutive integers, for which a plain list does.

use rustc_hash::FxHashMap;

use crate::id::Id;

/// Finds the row with an id.
#[derive(Debug)]
pub enum IdIndex {
    /// Rows by id less the first id.
    Dense {
        /// Smallest id.
        first: i64,
        /// Row, or `u32::MAX`.
        rows: Vec<u32>,
    },
    /// Ids far apart, or texts.
    Sparse(FxHashMap<Id, u32>),
}

const NO_ROW: u32 = u32::MAX;

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
    pub fn get(&self, id: Id) -> Option<u32> {
        match self {
            IdIndex::Dense { first, rows } => {
                let at = id.number()?.checked_sub(*first)?;
                rows.get(usize::try_from(at).ok()?).copied().filter(|row| *row != NO_ROW)
            }
            IdIndex::Sparse(rows) => rows.get(&id).copied(),
        }
    }

    fn new(rows: impl Iterator<Item = (Id, u32)> + Clone, last_wins: bool) -> IdIndex {
        let rows = rows.filter(|(id, _)| id.is_there());
        let mut count: i64 = 0;
        let mut span: Option<(i64, i64)> = None;
        let mut all_numbers = true;
        for (id, _) in rows.clone() {
            count += 1;
            match id.number() {
                Some(number) => {
                    let (low, high) = span.unwrap_or((number, number));
                    span = Some((low.min(number), high.max(number)));
                }
                None => all_numbers = false,
            }
        }
        match span {
            Some((first, last)) if all_numbers && last - first < 4 * count + 1024 => {
                let mut table = vec![NO_ROW; (last - first + 1) as usize];
                for (id, row) in rows {
                    let place = id.number().map(|number| &mut table[(number - first) as usize]);
                    if let Some(place) = place.filter(|place| last_wins || **place == NO_ROW) {
                        *place = row;
                    }
                }
                IdIndex::Dense { first, rows: table }
            }
            _ => {
                let mut table = FxHashMap::default();
                for (id, row) in rows {
                    let place = table.entry(id).or_insert(row);
                    if last_wins {
                        *place = row;
                    }
                }
                IdIndex::Sparse(table)
            }
        }
    }
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
        for rows in [near, far] {
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
