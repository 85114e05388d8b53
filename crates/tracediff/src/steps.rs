//! Steps of the server: annotations around forward passes, and the phase each one is in.

use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

use perfdb_model::workload::BatchLengths;

use crate::columns::Annotation;
use crate::id::Id;
use crate::time::Picoseconds;

/// Phase of a forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Generates tokens only.
    Decode,
    /// Prefill and decode tokens in one batch.
    Mixed,
    /// Reads prompts only.
    Prefill,
}

impl Phase {
    /// All phases, in the order in which results list them.
    pub const ALL: [Phase; 3] = [Phase::Decode, Phase::Mixed, Phase::Prefill];

    /// `decode`, `mixed` or `prefill`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Decode => "decode",
            Phase::Mixed => "mixed",
            Phase::Prefill => "prefill",
        }
    }
}

/// Which kernels are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseFilter {
    /// Every kernel.
    #[default]
    All,
    /// Kernels of prefill steps.
    Prefill,
    /// Kernels of decode steps.
    Decode,
    /// Kernels of mixed steps.
    Mixed,
}

/// A name that is none of those it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("one of {expected} is needed")]
pub struct UnknownName {
    /// The names that there are.
    pub expected: &'static str,
}

impl FromStr for PhaseFilter {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<PhaseFilter, UnknownName> {
        let all = [PhaseFilter::All, PhaseFilter::Prefill, PhaseFilter::Decode, PhaseFilter::Mixed];
        let found = all.into_iter().find(|phase| phase.name() == name);
        found.ok_or(UnknownName { expected: "all, prefill, decode, mixed" })
    }
}

impl PhaseFilter {
    /// `all` or the phase's name.
    pub fn name(self) -> &'static str {
        self.phase().map_or("all", Phase::name)
    }

    /// The phase, unless every kernel is meant.
    pub fn phase(self) -> Option<Phase> {
        match self {
            PhaseFilter::All => None,
            PhaseFilter::Prefill => Some(Phase::Prefill),
            PhaseFilter::Decode => Some(Phase::Decode),
            PhaseFilter::Mixed => Some(Phase::Mixed),
        }
    }

    /// Whether a kernel of that phase is compared.
    pub(crate) fn lets(self, phase: Option<Phase>) -> bool {
        self.phase().is_none_or(|wanted| phase == Some(wanted))
    }
}

/// What the elapsed times of two traces are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Both traces as a whole: in one of them no step is annotated.
    Whole,
    /// Steps of the profiler's own schedule.
    Step,
    /// Forward passes that the server annotated.
    Pass,
}

/// One forward pass on the host's clock, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) start: Picoseconds,
    pub(crate) end: Picoseconds,
    pub(crate) phase: Option<Phase>,
    /// The sequences of the pass, where the annotation or one inside it shows how long they are.
    pub(crate) lengths: Option<BatchLengths>,
}

/// The forward passes of a trace, by start; neither starts nor ends repeat.
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) windows: Vec<Window>,
    /// Whether any annotation named a phase (idle counts).
    pub(crate) recognised: bool,
    /// What the windows are.
    pub(crate) basis: Basis,
    /// The processes that they belong to, each with its part of the windows; nothing stands for all processes.
    processes: Vec<(Option<Id>, Range<usize>)>,
}

impl Steps {
    /// Windows of the annotations of a trace: those of one process own nothing of another one.
    pub(crate) fn new(annotations: &[Annotation]) -> Steps {
        Steps::of_processes(annotations, Steps::of_process)
    }

    fn of_processes(annotations: &[Annotation], find: impl Fn(&[&Annotation]) -> (Vec<Window>, bool, Basis)) -> Steps {
        let mut of_processes: BTreeMap<Option<Id>, Vec<&Annotation>> = BTreeMap::new();
        for annotation in annotations {
            of_processes.entry(annotation.process).or_default().push(annotation);
        }
        let mut all = Steps { windows: Vec::new(), recognised: false, basis: Basis::Whole, processes: Vec::new() };
        for (process, annotations) in of_processes {
            let (windows, recognised, basis) = find(&annotations);
            if windows.is_empty() {
                continue;
            }
            let first = all.windows.len();
            all.windows.extend(windows);
            all.recognised |= recognised;
            all.basis = all.basis.max(basis);
            all.processes.push((process, first..all.windows.len()));
        }
        all
    }

    fn of_process(annotations: &[&Annotation]) -> (Vec<Window>, bool, Basis) {
        let window = |annotation: &Annotation, phase| Window {
            start: annotation.start,
            end: annotation.start + annotation.duration,
            phase,
            lengths: BatchLengths::of_annotation(&annotation.name),
        };
        let recognised: Vec<Window> = annotations
            .iter()
            .filter_map(|annotation| Some(window(annotation, step_phase(&annotation.name)?)))
            .collect();
        if !recognised.is_empty() {
            return (outermost(recognised), true, Basis::Pass);
        }
        let loose: Vec<(Window, bool)> = annotations
            .iter()
            .filter_map(|annotation| {
                let kind = loose_step(&annotation.name)?;
                Some((window(annotation, kind.phase), kind.of_profiler))
            })
            .collect();
        let windows = outermost(loose.iter().map(|(window, _)| *window).collect());
        let of_profiler = |window: &Window| {
            let same = loose.iter().find(|(loose, _)| loose.start == window.start && loose.end == window.end);
            same.is_some_and(|(_, of_profiler)| *of_profiler)
        };
        let basis = match windows.as_slice() {
            [] => Basis::Whole,
            windows if windows.iter().any(of_profiler) => Basis::Step,
            _ => Basis::Pass,
        };
        let recognised = windows.iter().any(|window| window.phase.is_some());
        (windows, recognised, basis)
    }

    /// Windows of the annotations whose names match a pattern.
    pub(crate) fn matching(annotations: &[Annotation], pattern: &Regex) -> Steps {
        Steps::of_processes(annotations, |annotations| {
            let window = |annotation: &Annotation| Window {
                start: annotation.start,
                end: annotation.start + annotation.duration,
                phase: step_phase(&annotation.name)
                    .unwrap_or_else(|| phase_by_requests(&annotation.name.to_lowercase())),
                lengths: BatchLengths::of_annotation(&annotation.name),
            };
            let matching = annotations.iter().filter(|annotation| pattern.is_match(&annotation.name));
            let windows = outermost(matching.map(|annotation| window(annotation)).collect());
            let recognised = windows.iter().any(|window| window.phase.is_some());
            (windows, recognised, Basis::Step)
        })
    }

    /// Steps from start to end, in the order of their numbers.
    pub(crate) fn of_spans(spans: impl Iterator<Item = (Picoseconds, Picoseconds)>) -> Steps {
        let window = |(start, end)| Window { start, end, phase: None, lengths: None };
        Steps { windows: spans.map(window).collect(), recognised: false, basis: Basis::Step, processes: Vec::new() }
    }

    /// The window of a process at a time: the latest-starting one that covers it. Ends grow with starts, so no other can
    /// cover it.
    pub(crate) fn at(&self, process: Option<Id>, time: Picoseconds) -> Option<usize> {
        let is_of = |(of, _): &&(Option<Id>, Range<usize>)| of.is_none() || *of == process;
        let (_, part) = self.processes.iter().find(is_of)?;
        let windows = &self.windows[part.clone()];
        let behind = windows.partition_point(|window| window.start <= time);
        let at = behind.checked_sub(1)?;
        (time <= windows[at].end).then_some(part.start + at)
    }
}

/// Beginnings of annotations that are steps where nothing better is there: of the profiler's own schedule, and of
/// frameworks. In lower case.
const PROFILER_STEPS: [&str; 2] = ["profilerstep#", "iter"];
const FRAMEWORK_STEPS: [&str; 3] = ["execute_", "_forward_step", "[executor]"];

/// Whether an annotation can be a step under any rule set.
pub(crate) fn may_be_step(name: &str) -> bool {
    let starts = |start: &&str| name.get(..start.len()).is_some_and(|name| name.eq_ignore_ascii_case(start));
    PROFILER_STEPS.iter().chain(&FRAMEWORK_STEPS).chain(&["step[", "prefill[bs=", "decode[bs="]).any(starts)
}

/// A step whose phase is not certain.
struct LooseStep {
    phase: Option<Phase>,
    of_profiler: bool,
}

fn loose_step(name: &str) -> Option<LooseStep> {
    let lower = name.to_lowercase();
    let starts = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    let of_profiler = starts(&PROFILER_STEPS);
    (of_profiler || starts(&FRAMEWORK_STEPS)).then(|| LooseStep { phase: phase_by_requests(&lower), of_profiler })
}

/// The phase by the numbers of requests: `… 2 ctx reqs, 900 ctx tokens, 8 gen reqs` of TensorRT-LLM, `new_1_cached_4` of
/// vLLM.
fn phase_by_requests(lower: &str) -> Option<Phase> {
    let before = |word: &str| {
        let (number, _) = lower.split_once(word)?;
        let digits = number.rsplit(|character: char| !character.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok()
    };
    let behind = |word: &str| lower.split_once(word).and_then(|(_, rest)| integer(rest)).map(|(number, _)| number);
    let context = before(" ctx req").or_else(|| behind("new_"))?;
    let generation = before(" gen req").or_else(|| behind("cached_"))?;
    phase_of(context, generation)
}

fn phase_of(context: u64, generation: u64) -> Option<Phase> {
    match (context > 0, generation > 0) {
        (true, true) => Some(Phase::Mixed),
        (true, false) => Some(Phase::Prefill),
        (false, true) => Some(Phase::Decode),
        (false, false) => None,
    }
}

/// Sorted by start, without windows that end no later than an earlier one.
fn outermost(mut windows: Vec<Window>) -> Vec<Window> {
    windows.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
    let mut kept: Vec<Window> = Vec::with_capacity(windows.len());
    for window in windows {
        match kept.last_mut() {
            Some(last) if window.end <= last.end => last.lengths = last.lengths.or(window.lengths),
            _ => kept.push(window),
        }
    }
    kept
}

/// The phase of a step annotation: `None` if it is none, `Some(None)` for an idle step.
pub(crate) fn step_phase(name: &str) -> Option<Option<Phase>> {
    let name = name.to_lowercase();
    if let Some(rest) = name.strip_prefix("step[") {
        let kind = rest.split([' ', ']']).next().unwrap_or("");
        return Some(match kind {
            "extend" | "prefill" => Some(Phase::Prefill),
            "decode" => Some(Phase::Decode),
            "mixed" => Some(Phase::Mixed),
            _ => None,
        });
    }
    if name.starts_with("prefill[bs=") {
        return Some(Some(Phase::Prefill));
    }
    if let Some(rest) = name.strip_prefix("decode[bs=") {
        let has_prompts = rest.split([' ', ']']).any(|word| word.starts_with("p=") && word != "p=0");
        return Some(Some(if has_prompts { Phase::Mixed } else { Phase::Decode }));
    }
    let rest = name.strip_prefix("execute_")?;
    if rest
        .trim_start_matches(|character: char| character.is_ascii_digit() || character == '_')
        .starts_with("diffusion")
    {
        return Some(None);
    }
    let context = tokens(rest, "context_")?;
    let generation = tokens(rest, "generation_")?;
    Some(phase_of(context, generation))
}

/// Tokens behind `word` and a number: the first integer inside the parentheses that follow, else the number itself.
fn tokens(name: &str, word: &str) -> Option<u64> {
    name.match_indices(word).find_map(|(at, _)| {
        let rest = &name[at + word.len()..];
        let (requests, behind) = integer(rest)?;
        let inside = behind.strip_prefix('(').and_then(|inside| {
            let inside = inside.split(')').next().unwrap_or(inside);
            let digit = inside.find(|character: char| character.is_ascii_digit())?;
            integer(&inside[digit..])
        });
        Some(inside.map_or(requests, |(tokens, _)| tokens))
    })
}

/// The integer at the start of a text, saturating, and what follows.
fn integer(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let digits = &text[..end];
    if digits.is_empty() {
        return None;
    }
    Some((digits.parse().unwrap_or(u64::MAX), &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_of_servers_tell_phases() {
        use Phase::{Decode, Mixed, Prefill};
        for (name, expected) in [
            ("execute_context_1(2048)_generation_0(0)", Some(Some(Prefill))),
            ("execute_context_0(0)_generation_8(8)", Some(Some(Decode))),
            ("execute_context_1(512)_generation_4(4)", Some(Some(Mixed))),
            ("execute_context_0(0)_generation_0(0)", Some(None)),
            ("execute_context_1(888_788544)_generation_0(0)", Some(Some(Prefill))),
            ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086", Some(Some(Decode))),
            ("execute_3_context_1(sq7sk7)_generation_2(sq2sk9)", Some(Some(Mixed))),
            ("execute_context_3_generation_0", Some(Some(Prefill))),
            ("execute_context_0_generation_2", Some(Some(Decode))),
            ("execute_context_2(0)_generation_0(0)", Some(None)),
            ("execute_context_2(99999999999999999999999)_generation_0(0)", Some(Some(Prefill))),
            ("execute_context_2()_generation_0()", Some(Some(Prefill))),
            ("execute_context_2(4096)", None),
            ("execute_model", None),
            ("context_1(5)_generation_0(0)", None),
            ("step[DECODE bs=32]", Some(Some(Decode))),
            ("step[EXTEND bs=1 toks=5]", Some(Some(Prefill))),
            ("step[PREFILL]", Some(Some(Prefill))),
            ("step[MIXED bs=2]", Some(Some(Mixed))),
            ("step[TARGET_VERIFY bs=2]", Some(None)),
            ("step DECODE", None),
            ("Step[decode bs=2]", Some(Some(Decode))),
            ("EXECUTE_CONTEXT_1(9)_GENERATION_0(0)", Some(Some(Prefill))),
            ("prefill[bs=2 tok=14721 ctx=[7803, 6918]]", Some(Some(Prefill))),
            ("decode[bs=117/128 tok=117 d=117]", Some(Some(Decode))),
            ("decode[bs=128 tok=384 p=2 d=126]", Some(Some(Mixed))),
            ("decode[x]", None),
            ("execute_diffusion_3", Some(None)),
            ("execute_4_diffusion_step", Some(None)),
        ] {
            assert_eq!(step_phase(name), expected, "{name}");
        }
    }

    fn annotation(name: &str, start: i128, duration: i128) -> Annotation {
        Annotation { name: name.to_owned(), start, duration, process: None }
    }

    #[test]
    fn nested_and_equal_windows_are_dropped() {
        let steps = Steps::new(&[
            annotation("step[DECODE]", 100, 50),
            annotation("step[EXTEND]", 0, 60),
            annotation("step[DECODE]", 10, 50),
            annotation("step[DECODE]", 10, 40),
            annotation("step[MIXED]", 100, 60),
            annotation("ProfilerStep#1", 0, 1000),
        ]);
        let ends: Vec<_> = steps.windows.iter().map(|window| (window.start, window.end)).collect();
        assert_eq!(ends, [(0, 60), (100, 160)]);
        assert_eq!(
            [-1, 0, 60, 61, 99, 100, 160, 161].map(|time| steps.at(None, time)),
            [None, Some(0), Some(0), None, None, Some(1), Some(1), None]
        );
    }

    #[test]
    fn lengths_come_from_the_step_or_one_inside_it() {
        let told = "execute_2_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk9sqsq2sqsk9)";
        let steps = Steps::new(&[
            annotation("step[DECODE bs=2]", 0, 100),
            annotation(told, 10, 50),
            annotation("step[DECODE bs=2]", 200, 100),
        ]);
        let keys: Vec<_> = steps.windows.iter().map(|window| window.lengths.map(|lengths| lengths.keys())).collect();
        assert_eq!(keys, [Some(9), None]);
    }

    #[test]
    fn profiler_steps_are_the_last_resort() {
        let steps = Steps::new(&[annotation("ProfilerStep#3", 5, 10), annotation("execute_model", 0, 100)]);
        assert!(!steps.recognised);
        assert_eq!(
            (steps.windows, steps.basis),
            (vec![Window { start: 0, end: 100, phase: None, lengths: None }], Basis::Pass)
        );
        let steps = Steps::new(&[annotation("ProfilerStep#3", 5, 10), annotation("execute_model", 7, 2)]);
        assert_eq!((steps.windows.len(), steps.basis), (1, Basis::Step));
    }

    #[test]
    fn requests_tell_phases_of_loose_steps() {
        for (name, expected) in [
            ("[Executor] _forward_step 7: 1 ctx reqs, 900 ctx tokens, 0 gen reqs", Some(Some(Phase::Prefill))),
            ("[Executor] _forward_step 8: 0 ctx reqs, 0 ctx tokens, 12 gen reqs", Some(Some(Phase::Decode))),
            ("_forward_step 9: 3 ctx reqs, 10 gen reqs", Some(Some(Phase::Mixed))),
            ("execute_new_0_cached_32", Some(Some(Phase::Decode))),
            ("execute_model", Some(None)),
            ("ProfilerStep#12", Some(None)),
            ("iteration 3", Some(None)),
            ("aten::iter", None),
        ] {
            assert_eq!(loose_step(name).map(|step| step.phase), expected, "{name}");
            assert_eq!(may_be_step(name), expected.is_some(), "{name}");
        }
    }
}
