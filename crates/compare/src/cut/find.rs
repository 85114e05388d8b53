//! Finding the passes, and copying their rows.

use super::row::{BlockRows, Class, ProfileRows, whole_us};
use super::{Choice, CutMethod, Pass, Phase};
use crate::error::Error;
use indexmap::{IndexMap, IndexSet};
use perfdb_sequence::{Kernel, Method, Sequence, find_passes};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Durations from here on stand in a table of their own.
const LONG: u32 = 1 << 31;

/// One row in little memory.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// From the first row of the file.
    start_ps: i64,
    /// Picoseconds, or [`LONG`] and the position in the table of long ones.
    duration: u32,
    class: u32,
}

/// The rows of a profile; later its kernels, in the order of their starts.
#[derive(Debug, Default)]
struct Rows {
    rows: Vec<Row>,
    classes: IndexSet<Class, FxBuildHasher>,
    /// The symbol of each class.
    symbols: Vec<u32>,
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

/// A profile cut into passes.
#[derive(Debug)]
pub struct Cut {
    path: PathBuf,
    method: CutMethod,
    boundaries: Boundaries,
    passes: Vec<Pass>,
}

/// Which pass a row belongs to.
#[derive(Debug)]
struct Boundaries {
    origin_ps: i128,
    /// Start of the first kernel of a pass, and the pass: from there on rows belong to it.
    changes: Vec<(i64, usize)>,
    /// The pass of each step, where there are steps.
    steps: FxHashMap<Box<str>, usize>,
}

impl Cut {
    /// Reads a profile and finds its passes.
    ///
    /// # Errors
    /// When the file can't be read, or lacks kernel types, starts or durations.
    pub fn find(path: &Path) -> Result<Cut, Error> {
        let mut rows = Rows::default();
        ProfileRows::open(path)?.each_block(|block| rows.add(path, &block))?;
        rows.sort();
        let (steps, by_step) = rows.steps();
        let all_changes = if steps.is_empty() { Vec::new() } else { rows.step_changes(&steps) };
        rows.keep_kernels();
        let found = find_passes(&rows);
        let method = match (by_step, found.method) {
            (true, _) => CutMethod::StepColumn,
            (false, Method::Sequence) => CutMethod::Sequence,
            (false, Method::IdleGaps) => CutMethod::IdleGaps,
            (false, Method::OnePass) => CutMethod::OnePass,
        };
        let changes = match by_step {
            true => all_changes,
            false => found.starts.iter().enumerate().map(|(at, &start)| (rows.rows[start].start_ps, at + 1)).collect(),
        };
        let boundaries = Boundaries { origin_ps: rows.origin_ps.unwrap_or(0), changes, steps };
        let mut passes = rows.passes(&boundaries, found.anchor);
        drop(rows);
        let mut counts = vec![(0u64, 0u64); passes.len()];
        let mut number = 0;
        ProfileRows::open(path)?.each_block(|block| {
            for row in &block.rows {
                number += 1;
                let (first, count) = &mut counts[boundaries.pass_of(&block, row)];
                *first = if *count == 0 { number } else { *first };
                *count += 1;
            }
            Ok(())
        })?;
        for (pass, (first_row, rows)) in passes.iter_mut().zip(counts) {
            (pass.first_row, pass.rows) = (first_row, rows);
        }
        Ok(Cut { path: path.to_owned(), method, boundaries, passes })
    }

    /// How the passes were told apart.
    pub fn method(&self) -> CutMethod {
        self.method
    }

    /// The passes, in the order of their starts.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// The positions of the wanted passes. `None`: there is no such pass.
    pub fn choose(&self, choice: Choice) -> Option<Vec<usize>> {
        let all = 0..self.passes.len();
        let mut whole: Vec<usize> = all.clone().filter(|&at| !self.passes[at].partial).collect();
        if whole.is_empty() {
            whole = all.clone().collect();
        }
        match choice {
            Choice::All => Some(all.collect()).filter(|passes: &Vec<usize>| !passes.is_empty()),
            Choice::Last => whole.last().map(|&last| vec![last]),
            Choice::Median => {
                whole.sort_by_key(|&at| (self.passes[at].kernel_ps, self.passes[at].first_row));
                whole.get(whole.len().saturating_sub(1) / 2).map(|&median| vec![median])
            }
            Choice::Number(number) => all.contains(&(number.wrapping_sub(1))).then(|| vec![number - 1]),
        }
    }

    /// Writes the header and the rows of one pass, as they stand in the file and in its order.
    ///
    /// # Errors
    /// When the file can't be read again, or `out` not written.
    pub fn write(&self, pass: usize, out: &mut impl Write) -> Result<(), Error> {
        let mut outs = [(pass, out)];
        self.write_each(&mut outs)
    }

    /// [`Cut::write`] for several passes in one reading.
    ///
    /// # Errors
    /// As [`Cut::write`].
    pub fn write_each<W: Write>(&self, outs: &mut [(usize, W)]) -> Result<(), Error> {
        let unwritten = |source: std::io::Error| Error::Profile {
            path: self.path.clone(),
            reason: format!("the rows of a pass can't be written: {source}"),
        };
        let mut place = vec![None; self.passes.len()];
        outs.iter().enumerate().for_each(|(at, (pass, _))| place[*pass] = Some(at));
        let profile = ProfileRows::open(&self.path)?;
        let line_end: &[u8] =
            if profile.header.ends_with(b"\n") || profile.header.ends_with(b"\r") { b"" } else { b"\n" };
        for (_, out) in outs.iter_mut() {
            out.write_all(&profile.header).and_then(|()| out.write_all(line_end)).map_err(unwritten)?;
        }
        profile.each_block(|block| {
            // Rows of one pass that stand behind each other are written at once.
            let mut open: Option<(usize, usize, usize)> = None;
            for row in &block.rows {
                let (bytes, pass) = (row.bytes(), self.boundaries.pass_of(&block, row));
                open = match open {
                    Some((same, from, to)) if same == pass && to == bytes.start => Some((same, from, bytes.end)),
                    other => {
                        if let Some((before, from, to)) = other
                            && let Some(at) = place[before]
                        {
                            outs[at].1.write_all(&block.text[from..to]).map_err(unwritten)?;
                        }
                        Some((pass, bytes.start, bytes.end))
                    }
                };
            }
            if let Some((pass, from, to)) = open
                && let Some(at) = place[pass]
            {
                outs[at].1.write_all(&block.text[from..to]).map_err(unwritten)?;
            }
            Ok(())
        })
    }
}

impl Boundaries {
    fn pass_of(&self, block: &BlockRows, row: &super::row::BlockRow) -> usize {
        if let Some(step) = &block.classes[row.class as usize].step
            && let Some(&pass) = self.steps.get(step)
        {
            return pass;
        }
        let start_ps = relative(row.start_ps, self.origin_ps);
        let behind = self.changes.partition_point(|&(change_ps, _)| change_ps <= start_ps);
        behind.checked_sub(1).map_or(0, |at| self.changes[at].1)
    }
}

/// Starts so far apart that 64 bits do not hold them only have an order.
fn relative(start_ps: i128, origin_ps: i128) -> i64 {
    let farthest = i128::from(i64::MAX / 4);
    (start_ps - origin_ps).clamp(-farthest, farthest) as i64
}

impl Rows {
    fn add(&mut self, path: &Path, block: &BlockRows) -> Result<(), Error> {
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
        if self.rows.len() > u32::MAX as usize {
            return Err(Error::Profile { path: path.to_owned(), reason: "more than 4294967295 rows".to_owned() });
        }
        Ok(())
    }

    fn duration_ps(&self, row: Row) -> i64 {
        match row.duration.checked_sub(LONG) {
            None => i64::from(row.duration),
            Some(at) => self.long_ps.get_index(at as usize).copied().unwrap_or(0),
        }
    }

    fn sort(&mut self) {
        if !self.rows.is_sorted_by_key(|row| row.start_ps) {
            self.rows.sort_by_key(|row| row.start_ps);
        }
        let mut names: FxHashMap<&str, u32> = FxHashMap::default();
        let mut symbols = Vec::with_capacity(self.classes.len());
        for class in &self.classes {
            let next = names.len() as u32;
            symbols.push(*names.entry(&class.symbol).or_insert(next));
        }
        self.symbols = symbols;
    }

    /// The pass of each step in order of first start, and whether there are steps to tell passes by.
    fn steps(&self) -> (FxHashMap<Box<str>, usize>, bool) {
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
    fn step_changes(&self, steps: &FxHashMap<Box<str>, usize>) -> Vec<(i64, usize)> {
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

    /// Drops what is no kernel, and collectives beyond their first row.
    fn keep_kernels(&mut self) {
        let origin_ps = self.origin_ps.unwrap_or(0);
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
        self.rows.retain(|row| {
            let (is_kernel, collective) = of_class[row.class as usize];
            let Some(collective) = collective.filter(|_| is_kernel) else { return is_kernel };
            let start_us = whole_us(origin_ps + i128::from(row.start_ps));
            if start_us != now_us {
                (now_us, seen) = (start_us, FxHashSet::default());
            }
            seen.insert(collective)
        });
    }

    /// The passes, still without their rows in the file.
    fn passes(&self, boundaries: &Boundaries, anchor: Option<u32>) -> Vec<Pass> {
        let last = boundaries.changes.iter().map(|&(_, pass)| pass).max().unwrap_or(0);
        let count = if self.rows.is_empty() && boundaries.steps.is_empty() { 0 } else { last + 1 };
        let none = Pass {
            first_row: 0,
            rows: 0,
            kernels: 0,
            kernel_ps: 0,
            elapsed_ps: 0,
            layers: 0,
            phase: Phase::Unknown,
            partial: false,
        };
        let mut passes = vec![none; count];
        let mut bounds: Vec<Option<(i64, i64)>> = vec![None; count];
        let of_class: Vec<Option<usize>> =
            self.classes.iter().map(|class| boundaries.steps.get(class.step.as_deref()?).copied()).collect();
        let (mut change, mut now) = (0, 0);
        for row in &self.rows {
            while let Some(&(_, pass)) =
                boundaries.changes.get(change).filter(|(start_ps, _)| *start_ps <= row.start_ps)
            {
                (now, change) = (pass, change + 1);
            }
            let at = of_class[row.class as usize].unwrap_or(now);
            let duration_ps = self.duration_ps(*row);
            let (pass, class) = (&mut passes[at], &self.classes[row.class as usize]);
            pass.kernels += 1;
            pass.kernel_ps += i128::from(duration_ps);
            pass.layers += u64::from(Some(self.symbols[row.class as usize]) == anchor);
            pass.phase = match (pass.phase, class.phase) {
                (phase, Phase::Unknown) => phase,
                (Phase::Unknown, phase) => phase,
                (one, other) if one == other => one,
                _ => Phase::Mixed,
            };
            let end_ps = row.start_ps.saturating_add(duration_ps);
            let (first, latest) = bounds[at].unwrap_or((row.start_ps, end_ps));
            bounds[at] = Some((first, latest.max(end_ps)));
        }
        for (pass, bounds) in passes.iter_mut().zip(bounds) {
            pass.elapsed_ps = bounds.map_or(0, |(first, latest)| i128::from(latest) - i128::from(first));
        }
        let most: Vec<u64> = passes
            .iter()
            .map(|pass| {
                passes.iter().filter(|other| other.phase == pass.phase).map(|other| other.layers).max().unwrap_or(0)
            })
            .collect();
        passes.iter_mut().zip(most).for_each(|(pass, most)| pass.partial = pass.layers + 1 < most);
        passes
    }
}
