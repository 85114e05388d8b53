//! How alike a replay and a capture are, step by step.

use crate::columns::{Columns, LaunchSize};
use crate::names::{NO_NAME, NameId, Names};
use rustc_hash::FxHashMap;

/// One thing in a graph, by the number of its name; copies have the name of none.
pub(super) type Step = Option<NameId>;

/// What a replay runs, with the sizes of its launches.
pub(super) type Played = Vec<(Step, Option<LaunchSize>)>;

/// Longest stretches without a counterpart that are compared step by step.
const LONGEST_CHANGE: usize = 1000;

/// Of this many steps of a replay with a known name, this many must be those of the capture.
const LIKE: (usize, usize) = (95, 100);

/// A capture: its steps, and the launch of each.
pub(super) struct Capture {
    pub(super) steps: Vec<CapturedStep>,
}

/// A step of a capture.
#[derive(Clone, Copy)]
pub(super) struct CapturedStep {
    pub(super) launch: u32,
    /// None where the launch does not say which kernel it launches.
    pub(super) is: Option<Step>,
    pub(super) size: Option<LaunchSize>,
}

/// What stands between the calls that begin and end captures, thread by thread.
pub(super) fn captures(capture: &Columns, capture_names: &Names, names: &Names) -> Vec<Capture> {
    let mut order: Vec<u32> = (0..capture.launches.len() as u32).collect();
    order.sort_by_key(|at| {
        let launch = capture.launches.at(*at as usize);
        (launch.thread, launch.start)
    });
    let mut found = Vec::new();
    let mut open: Option<(u32, Capture)> = None;
    for at in order {
        let launch = capture.launches.at(at as usize);
        let name = capture_names.get(launch.name);
        if name.contains("StreamBeginCapture") {
            open = Some((launch.thread, Capture { steps: Vec::new() }));
        } else if name.contains("StreamEndCapture") {
            found.extend(open.take().filter(|(thread, _)| *thread == launch.thread).map(|(_, capture)| capture));
        } else if let Some((thread, capturing)) = &mut open
            && *thread == launch.thread
        {
            let kernel = capture.launched.get(at as usize).copied().unwrap_or(NO_NAME);
            let is = if name.contains("Memcpy") || name.contains("Memset") {
                Some(None)
            } else if !name.contains("Launch") {
                continue;
            } else if kernel == NO_NAME {
                None
            } else {
                // A kernel that the replay never runs has a number that no step of a replay has.
                Some(Some(names.find(capture_names.get(kernel)).unwrap_or(NO_NAME)))
            };
            capturing.steps.push(CapturedStep {
                launch: at,
                is,
                size: capture.launched_sizes.get(at as usize).copied().flatten(),
            });
        }
    }
    found.retain(|capture| !capture.steps.is_empty());
    found
}

/// A capture that a replay can be of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fit {
    /// Its number.
    pub(super) capture: usize,
    /// For each step of the replay the launch that it is joined to.
    pub(super) places: Vec<Option<u32>>,
    /// Launches whose sizes both know, and of these the equal ones.
    sizes: (usize, usize),
    /// Whether launches say which kernels they launch.
    pub(super) is_named: bool,
}

impl Fit {
    /// Whether the sizes of launches say that this is the capture.
    pub(super) fn has_its_sizes(&self) -> bool {
        self.sizes.0 > 0 && is_like(self.sizes.1, self.sizes.0)
    }

    /// Whether they say that it is another one.
    pub(super) fn has_other_sizes(&self) -> bool {
        self.sizes.0 > 0 && !self.has_its_sizes()
    }
}

/// The captures that are most like a replay; none where none is like it.
pub(super) fn fits(played: &Played, captures: &[Capture]) -> Vec<Fit> {
    let steps: Vec<Step> = played.iter().map(|(step, _)| *step).collect();
    let is_same_size = |capture: &&(usize, &Capture)| capture.1.steps.len() == steps.len();
    let numbered: Vec<(usize, &Capture)> = captures.iter().enumerate().collect();
    let same_size: Vec<&(usize, &Capture)> = numbered.iter().filter(is_same_size).collect();
    let mut best = 0;
    let mut found: Vec<Fit> = Vec::new();
    let mut consider = |number: usize, capture: &Capture, alike: Option<(usize, Vec<Option<u32>>)>| {
        let Some((like, places)) = alike else { return };
        if like > best {
            best = like;
            found.clear();
        }
        if like == best {
            let is_named = capture.steps.iter().any(|step| step.is.is_some_and(|is| is.is_some()));
            found.push(Fit { capture: number, sizes: sizes(played, &places, capture), places, is_named });
        }
    };
    for (number, capture) in &same_size {
        consider(*number, capture, by_position(&steps, &capture.steps));
    }
    for (number, capture) in numbered.iter().filter(|_| same_size.is_empty()) {
        let difference = capture.steps.len().abs_diff(steps.len());
        if 50 * difference <= steps.len().max(capture.steps.len()) {
            consider(*number, capture, by_common_steps(&steps, &capture.steps));
        }
    }
    found
}

/// How many joined launches have sizes on both sides, and how many of these are equal.
fn sizes(played: &Played, places: &[Option<u32>], capture: &Capture) -> (usize, usize) {
    let of_launch: FxHashMap<u32, LaunchSize> =
        capture.steps.iter().filter_map(|step| Some((step.launch, step.size?))).collect();
    let known =
        |((_, size), place): (&(Step, Option<LaunchSize>), &Option<u32>)| Some(*of_launch.get(&(*place)?)? == (*size)?);
    let equal: Vec<bool> = played.iter().zip(places).filter_map(known).collect();
    (equal.len(), equal.iter().filter(|equal| **equal).count())
}

fn is_like(like: usize, named: usize) -> bool {
    like * LIKE.1 >= named * LIKE.0
}

/// Joins step to step.
fn by_position(steps: &[Step], captured: &[CapturedStep]) -> Option<(usize, Vec<Option<u32>>)> {
    let named = captured.iter().filter(|captured| captured.is.is_some()).count();
    let is_equal = |(step, captured): &(&Step, &CapturedStep)| captured.is == Some(**step);
    let like = steps.iter().zip(captured).filter(is_equal).count();
    if !is_like(like, named) {
        return None;
    }
    let place =
        |(step, captured): (&Step, &CapturedStep)| captured.is.is_none_or(|is| is == *step).then_some(captured.launch);
    Some((like, steps.iter().zip(captured).map(place).collect()))
}

/// Joins the longest sequence of steps that both have.
fn by_common_steps(steps: &[Step], captured: &[CapturedStep]) -> Option<(usize, Vec<Option<u32>>)> {
    let is_equal = |step: &Step, captured: &CapturedStep| captured.is == Some(*step);
    let front = steps.iter().zip(captured).take_while(|(step, captured)| is_equal(step, captured)).count();
    let (rest, captured_rest) = (&steps[front..], &captured[front..]);
    let pairs = rest.iter().rev().zip(captured_rest.iter().rev());
    let back = pairs.take_while(|(step, captured)| is_equal(step, captured)).count();
    let (rest, captured_rest) = (&rest[..rest.len() - back], &captured_rest[..captured_rest.len() - back]);
    if rest.len().max(captured_rest.len()) > LONGEST_CHANGE {
        return None;
    }
    let mut places: Vec<Option<u32>> = captured[..front].iter().map(|captured| Some(captured.launch)).collect();
    places.extend(longest_common(rest, captured_rest));
    places.extend(captured[captured.len() - back..].iter().map(|captured| Some(captured.launch)));
    let like = places.iter().filter(|place| place.is_some()).count();
    is_like(like, steps.len().max(captured.len())).then_some((like, places))
}

/// Longest common subsequence: for each step the launch it is joined to.
fn longest_common(steps: &[Step], captured: &[CapturedStep]) -> Vec<Option<u32>> {
    let width = captured.len() + 1;
    let mut length = vec![0_u16; (steps.len() + 1) * width];
    for (row, step) in steps.iter().enumerate().rev() {
        for (column, captured) in captured.iter().enumerate().rev() {
            length[row * width + column] = if captured.is == Some(*step) {
                length[(row + 1) * width + column + 1] + 1
            } else {
                length[(row + 1) * width + column].max(length[row * width + column + 1])
            };
        }
    }
    let mut column = 0;
    let mut place = |(row, step): (usize, &Step)| {
        while let Some(next) = captured.get(column) {
            if next.is == Some(*step) {
                column += 1;
                return Some(next.launch);
            }
            if length[(row + 1) * width + column] > length[row * width + column + 1] {
                return None;
            }
            column += 1;
        }
        None
    };
    // A step that is in no longest sequence leaves the column where it was.
    steps.iter().enumerate().map(&mut place).collect()
}
