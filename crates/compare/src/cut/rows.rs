//! The rows of a profile in little memory.

use super::profile_rows::{BlockRows, Class, whole_us};
use crate::error::Error;
use indexmap::{IndexMap, IndexSet};
use perfdb_trace::sequence::{Kernel, Sequence};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::path::Path;

/// Durations from here on stand in a table of their own.
const LONG: u32 = 1 << 31;

/// One row in little memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// From the first row of the file.
    pub(super) start_ps: i64,
    /// Picoseconds, or [`LONG`] and the position in the table of long ones.
    duration: u32,
    pub(super) class: u32,
}

/// The position of a row that is not a kernel among the kernels of a file in the order of their starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeftOut(u32);

impl LeftOut {
    /// Set where the row starts when the next kernel does.
    const WITH_NEXT: u32 = 1 << 31;

    /// How many kernels are in front of it.
    pub(super) fn kernels_before(self) -> usize {
        (self.0 & !Self::WITH_NEXT) as usize
    }

    /// Whether it starts when the next kernel does.
    pub(super) fn starts_with_next(self) -> bool {
        self.0 & Self::WITH_NEXT != 0
    }
}

/// The rows of a profile; later its kernels, in the order of their starts.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    pub(super) classes: IndexSet<Class, FxBuildHasher>,
    /// The symbol of each class.
    pub(super) symbols: Vec<u32>,
    long_ps: IndexSet<i64, FxBuildHasher>,
    origin_ps: Option<i128>,
}

impl Sequence for Rows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn kernel(&self, at: usize) -> Kernel {
        let row = self.rows[at];
        let symbol = self.symbols[row.class as usize];
        Kernel { symbol, start_ps: row.start_ps, duration_ps: self.duration_ps(row) }
    }
}

/// Starts so far apart that 64 bits do not hold them only have an order.
pub(super) fn relative(start_ps: i128, origin_ps: i128) -> i64 {
    let farthest = i128::from(i64::MAX / 4);
    (start_ps - origin_ps).clamp(-farthest, farthest) as i64
}

impl Rows {
    /// Adds the rows of a block.
    pub(super) fn add(&mut self, path: &Path, block: &BlockRows) -> Result<(), Error> {
        let classes: Vec<u32> =
            block.classes.iter().map(|class| self.classes.insert_full(class.clone()).0 as u32).collect();
        for row in &block.rows {
            let origin_ps = *self.origin_ps.get_or_insert(row.start_ps);
            let duration = match u32::try_from(row.duration_ps) {
                Ok(short) if short < LONG => short,
                _ => LONG | self.long_ps.insert_full(row.duration_ps).0 as u32,
            };
            let start_ps = relative(row.start_ps, origin_ps);
            self.rows.push(Row { start_ps, duration, class: classes[row.class as usize] });
        }
        if self.rows.len() > LONG as usize {
            return Err(Error::Profile { path: path.to_owned(), reason: "more than 2147483648 rows".to_owned() });
        }
        Ok(())
    }

    pub(super) fn duration_ps(&self, row: Row) -> i64 {
        match row.duration.checked_sub(LONG) {
            None => i64::from(row.duration),
            Some(at) => self.long_ps.get_index(at as usize).copied().unwrap_or(0),
        }
    }

    /// Puts the rows in the order of their starts; whether they were.
    pub(super) fn sort(&mut self) -> bool {
        let is_sorted = self.rows.is_sorted_by_key(|row| row.start_ps);
        if !is_sorted {
            self.rows.sort_by_key(|row| row.start_ps);
        }
        let mut names: FxHashMap<&str, u32> = FxHashMap::default();
        let mut symbols = Vec::with_capacity(self.classes.len());
        for class in &self.classes {
            let next = names.len() as u32;
            symbols.push(*names.entry(&class.symbol).or_insert(next));
        }
        self.symbols = symbols;
        is_sorted
    }

    /// The pass of each step in order of first start, and whether there are steps to tell passes by.
    pub(super) fn steps(&self) -> (FxHashMap<Box<str>, usize>, bool) {
        let mut steps: IndexMap<&str, (), FxBuildHasher> = IndexMap::default();
        let of_class: Vec<Option<&str>> = self.classes.iter().map(|class| class.step.as_deref()).collect();
        for row in &self.rows {
            if let Some(step) = of_class[row.class as usize]
                && !steps.contains_key(step)
            {
                steps.insert(step, ());
            }
        }
        if steps.len() < 2 {
            return (FxHashMap::default(), false);
        }
        (steps.keys().enumerate().map(|(at, step)| ((*step).into(), at)).collect(), true)
    }

    /// Where the step of the rows in time changes.
    pub(super) fn step_changes(&self, steps: &FxHashMap<Box<str>, usize>) -> Vec<(i64, usize)> {
        let of_class: Vec<Option<usize>> =
            self.classes.iter().map(|class| steps.get(class.step.as_deref()?).copied()).collect();
        let mut changes: Vec<(i64, usize)> = Vec::new();
        for row in &self.rows {
            if let Some(pass) = of_class[row.class as usize]
                && changes.last().is_none_or(|&(_, last)| last != pass)
            {
                changes.push((row.start_ps, pass));
            }
        }
        changes
    }

    /// Takes out what is no kernel, and collectives beyond their first row; says where they stood.
    pub(super) fn keep_kernels(&mut self) -> Vec<LeftOut> {
        let origin_ps = self.origin_ps();
        let mut collectives: IndexSet<&str, FxBuildHasher> = IndexSet::default();
        let of_class: Vec<(bool, Option<usize>)> = self
            .classes
            .iter()
            .map(|class| {
                let collective = class.collective.as_deref().map(|name| collectives.insert_full(name).0);
                (class.is_kernel, collective)
            })
            .collect();
        let (mut now_us, mut seen) = (i128::MIN, FxHashSet::default());
        let mut is_kernel = |row: &Row| {
            let (is_kernel, collective) = of_class[row.class as usize];
            let Some(collective) = collective.filter(|_| is_kernel) else { return is_kernel };
            let start_us = whole_us(origin_ps + i128::from(row.start_ps));
            if start_us != now_us {
                now_us = start_us;
                seen.clear();
            }
            seen.insert(collective)
        };
        let (mut kernels, mut left_out) = (0, Vec::new());
        // Starts of the rows left out behind the last kernel.
        let mut starts_ps: Vec<i64> = Vec::new();
        self.rows.retain(|row| {
            let stays = is_kernel(row);
            if stays {
                kernels += 1;
                let behind_last = left_out.len() - starts_ps.len();
                for (LeftOut(number), start_ps) in left_out[behind_last..].iter_mut().zip(starts_ps.drain(..)) {
                    *number |= if start_ps == row.start_ps { LeftOut::WITH_NEXT } else { 0 };
                }
            } else {
                left_out.push(LeftOut(kernels));
                starts_ps.push(row.start_ps);
            }
            stays
        });
        self.rows.shrink_to_fit();
        left_out
    }

    /// Start of the first row of the file.
    pub(super) fn origin_ps(&self) -> i128 {
        self.origin_ps.unwrap_or(0)
    }
}
