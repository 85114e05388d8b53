//! Both sides of an explanation, layer by layer.

use super::call::{Book, Call};
use super::group::{Groups, Unjoined};
use super::layers::common_layer_anchor;
use super::quotient::rounded;
use super::{Contribution, Detail, Explanation, Families, MeasuredSequence, Passes};
use perfdb_trace::sequence::find_passes;
use perfdb_trace::timeline::{Agreement, Side, Window};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The calls of both sides.
#[derive(Debug, Clone, Copy)]
pub struct BothSides<'b> {
    pub(super) book: &'b Book,
    pub(super) passes: Passes,
    pub(super) families: &'b Families,
}

impl<'b> BothSides<'b> {
    /// Cuts them into passes and layers.
    pub fn side_by_side(&self) -> SideBySide<'b> {
        SideBySide::new(self.book, self.passes, self.families)
    }
}

/// The calls of both sides, for whoever shows them on a clock: the predicted pass, and every measured pass as a side of its own.
#[derive(Debug)]
pub struct SideBySide<'b> {
    book: &'b Book,
    groups: Groups,
    passes: Passes,
    /// Where the windows of each side begin, and the end of the last one.
    sides: Vec<Vec<Range<usize>>>,
}

/// What there is to say about the calls of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Finding {
    cause: &'static str,
    /// The part of the difference with this cause.
    difference_ps: i128,
}

impl<'b> SideBySide<'b> {
    fn new(book: &'b Book, passes: Passes, families: &Families) -> SideBySide<'b> {
        let mut unjoined = Unjoined::new(book, &book.predicted, &book.measured);
        unjoined.join(book, passes);
        let groups = unjoined.finish(book, passes, families, 0);
        let anchor = common_layer_anchor(book, &groups);
        let windows = |calls: &[Call], first: usize| -> Vec<Range<usize>> {
            let begins =
                |(at, call): (usize, &Call)| (at > 0 && Some(groups.position(book, call)) == anchor).then_some(at);
            let mut starts: Vec<usize> = vec![0];
            // Kernels before the first anchor make a window as well, empty or not, so that layers have one number on all sides.
            if calls.first().is_some_and(|call| Some(groups.position(book, call)) == anchor) {
                starts.push(0);
            }
            starts.extend(calls.iter().enumerate().filter_map(begins));
            let ends = starts.iter().skip(1).copied().chain([calls.len()]);
            starts.iter().zip(ends).map(|(&start, end)| first + start..first + end).collect()
        };
        let mut sides = vec![windows(&book.predicted, 0)];
        let mut starts = vec![0];
        starts.extend(find_passes(&MeasuredSequence(book)).starts);
        let ends = starts.iter().skip(1).copied().chain([book.measured.len()]);
        sides.extend(starts.iter().zip(ends).map(|(&start, end)| windows(&book.measured[start..end], start)));
        SideBySide { book, groups, passes, sides }
    }

    /// The names of the sides: `predicted`, and `measured` or `measured, pass 1` and so on.
    pub fn names(&self) -> Vec<String> {
        let passes = self.sides.len() - 1;
        let measured = |pass: usize| if passes == 1 { "measured".to_owned() } else { format!("measured, pass {pass}") };
        std::iter::once("predicted".to_owned()).chain((1..=passes).map(measured)).collect()
    }

    /// Hands over one window after the other: what is before the layers, then each layer. The last layer of a pass goes on to its end.
    ///
    /// # Errors
    /// What `visit` says.
    pub fn windows<E>(
        &self,
        explanation: &Explanation,
        mut visit: impl FnMut(&Window<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let findings = self.findings(explanation);
        let count = self.sides.iter().map(Vec::len).max().unwrap_or(0);
        let has_layers = count > 1;
        for number in 0..count {
            let name = match number {
                0 if has_layers => "before the layers".to_owned(),
                0 => "pass".to_owned(),
                layer => format!("layer {}", layer - 1),
            };
            let side = |(at, windows): (usize, &Vec<Range<usize>>)| {
                let calls = if at == 0 { &self.book.predicted } else { &self.book.measured };
                self.side(windows.get(number).cloned().unwrap_or_default(), calls, at == 0, &findings)
            };
            visit(&Window { name: &name, sides: self.sides.iter().enumerate().map(side).collect() })?;
        }
        Ok(())
    }

    fn side(&self, range: Range<usize>, calls: &[Call], is_predicted: bool, findings: &[Finding]) -> Side<'_> {
        let until_ps = calls.get(range.end).map_or(i64::MIN, |next| next.start_ps);
        let shown = |call: &Call| {
            let at = self.groups.position(self.book, call);
            let (group, Finding { cause, difference_ps }) = (&self.groups.list[at], findings[at]);
            let calls = if is_predicted { group.n1 } else { group.n2 };
            // In one pass, exact counts have a unit.
            let lost_ps =
                (!cause.is_empty() && calls > 0).then(|| rounded(&[difference_ps, self.passes.unit()], &[calls]));
            perfdb_trace::timeline::Call {
                name: &group.kernel_type,
                shape: &group.shape,
                family: &group.family,
                cause,
                lost_ps: lost_ps.and_then(|ps| i64::try_from(ps).ok()),
                start_ps: call.start_ps,
                duration_ps: call.duration_ps,
                work: at as u32,
                agreement: Agreement::of(group.predicted_ps, group.measured_ps),
            }
        };
        // The last window of a pass ends with its last call.
        Side { calls: calls[range].iter().map(shown).collect(), until_ps }
    }

    /// The largest contribution of each group.
    fn findings(&self, explanation: &Explanation) -> Vec<Finding> {
        let numbered = self.groups.list.iter().enumerate();
        let numbers: FxHashMap<(&str, &str), usize> =
            numbered.map(|(at, group)| ((&*group.kernel_type, group.shape.as_str()), at)).collect();
        let mut findings = vec![Finding::default(); self.groups.list.len()];
        let mut note = |contribution: &Contribution, kernel_type: &str, shape: &str, difference_ps: i128| {
            if let Some(&at) = numbers.get(&(kernel_type, shape))
                && difference_ps.abs() > findings[at].difference_ps.abs()
            {
                findings[at] = Finding { cause: contribution.cause.name(), difference_ps };
            }
        };
        for contribution in &explanation.attribution.contributions {
            match &contribution.detail {
                Detail::Pool(pool) => {
                    pool.parts
                        .iter()
                        .for_each(|part| note(contribution, &part.kernel_type, &part.shape, part.difference_ps));
                }
                _ => note(contribution, &contribution.kernel_type, &contribution.shape, contribution.difference_ps),
            }
        }
        findings
    }
}
