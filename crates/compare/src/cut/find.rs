//! Finding the passes.

use super::blocks::{BlockPasses, Boundaries};
use super::profile_rows::ProfileRows;
use super::rows::{LeftOut, Rows};
use super::{Choice, CutMethod, Pass, Phase};
use crate::error::Error;
use perfdb_files::escape::shown;
use perfdb_trace::sequence::{Method, find_passes};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A profile cut into passes.
#[derive(Debug)]
pub struct Cut {
    pub(super) path: PathBuf,
    method: CutMethod,
    pub(super) boundaries: Boundaries,
    passes: Vec<Pass>,
    pub(super) blocks: BlockPasses,
}

impl Cut {
    /// Reads a profile and finds its passes.
    ///
    /// # Errors
    /// When the file can't be read, or lacks kernel types, starts or durations.
    pub fn find(path: &Path) -> Result<Cut, Error> {
        let started = Instant::now();
        let (mut rows, mut blocks) = (Rows::default(), BlockPasses::default());
        ProfileRows::open(path)?.each_block(|block| {
            blocks.push(&block);
            rows.add(path, &block)
        })?;
        tracing::info!("{}: {} rows read in {:.3} s", shown(path), rows.rows.len(), started.elapsed().as_secs_f64());
        let started = Instant::now();
        let in_order = rows.sort();
        let (steps, by_step) = rows.steps();
        let all_changes = if steps.is_empty() { Vec::new() } else { rows.step_changes(&steps) };
        let left_out = rows.keep_kernels();
        let found = find_passes(&rows);
        let method = match (by_step, found.method) {
            (true, _) => CutMethod::StepColumn,
            (false, Method::Sequence) => CutMethod::Sequence,
            (false, Method::IdleGaps) => CutMethod::IdleGaps,
            (false, Method::OnePass) => CutMethod::OnePass,
        };
        let changes = if by_step {
            all_changes
        } else {
            found.starts.iter().enumerate().map(|(at, &start)| (rows.rows[start].start_ps, at + 1)).collect()
        };
        let boundaries = Boundaries { origin_ps: rows.origin_ps(), changes, steps };
        let mut passes = rows.passes(&boundaries, found.anchor);
        let mut counts = Counts { rows: 0, passes: &mut passes };
        if in_order && boundaries.steps.is_empty() {
            let mut passes = boundaries.passes_in_order(&rows, &left_out).inspect(|&pass| counts.add(pass));
            blocks.fill(&mut passes);
        } else {
            // Which row came where in the file, or the step of those left out, is no longer known.
            let mut at = 0;
            drop((rows, left_out));
            ProfileRows::open(path)?.each_block(|block| {
                let passes = block.rows.iter().map(|row| boundaries.pass_of(&block, row));
                blocks.fill_one(at, &mut passes.inspect(|&pass| counts.add(pass)));
                at += 1;
                Ok(())
            })?;
        }
        tracing::info!(
            "{} passes found by {} in {:.3} s",
            passes.len(),
            method.text(),
            started.elapsed().as_secs_f64()
        );
        Ok(Cut { path: path.to_owned(), method, boundaries, passes, blocks })
    }

    /// How the passes were told apart.
    pub fn method(&self) -> CutMethod {
        self.method
    }

    /// The passes, in the order of their starts.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// The positions of the wanted passes. `None`: the pass does not exist.
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
}

/// Counts the rows of passes in file order.
struct Counts<'p> {
    rows: u64,
    passes: &'p mut [Pass],
}

impl Counts<'_> {
    fn add(&mut self, pass: usize) {
        self.rows += 1;
        let pass = &mut self.passes[pass];
        if pass.rows == 0 {
            pass.first_row = self.rows;
        }
        pass.rows += 1;
    }
}

impl Boundaries {
    /// The pass of each row of a file without steps whose rows are in the order of their starts.
    fn passes_in_order<'r>(&'r self, rows: &'r Rows, left_out: &'r [LeftOut]) -> impl Iterator<Item = usize> + 'r {
        let mut left_out = left_out.iter().peekable();
        let (mut taken, mut change, mut now) = (0, 0, 0);
        std::iter::from_fn(move || {
            let kernel_start_ps = rows.rows.get(taken).map(|row| row.start_ps);
            let start_ps = match left_out.next_if(|row| row.kernels_before() == taken) {
                // Passes change where kernels start.
                Some(row) => kernel_start_ps.filter(|_| row.starts_with_next()),
                None => {
                    taken += 1;
                    Some(kernel_start_ps?)
                }
            };
            while let Some(&(_, pass)) = self.changes.get(change).filter(|(at_ps, _)| Some(*at_ps) <= start_ps) {
                (now, change) = (pass, change + 1);
            }
            Some(now)
        })
    }
}

impl Rows {
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
        let of_class: Vec<Option<usize>> = self.classes.iter().map(|class| boundaries.pass_of_step(class)).collect();
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
