//! Prefill and decode by the kernel's own time, from `execute_context…` annotations.

use super::times::Doubles;
use crate::columns::Annotation;
use crate::context::OUTSIDE;
use crate::context::passes::{KernelPass, Passes};
use crate::rules::Rules;
use crate::steps::Phase;

/// An annotated step in microseconds, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) phase: Phase,
}

/// The annotated steps by start; `times` are those of the annotations.
pub(crate) fn windows(annotations: &[Annotation], times: &[Doubles], rules: Rules) -> Vec<Window> {
    // The smallest number of context tokens of a prefill.
    let prefill_tokens = if rules == Rules::Wafer0135 { 1024 } else { 1 };
    let mut windows: Vec<Window> = annotations
        .iter()
        .zip(times)
        .filter(|(annotation, _)| annotation.name.starts_with("execute_context"))
        .map(|(annotation, times)| Window {
            start: times.start,
            end: times.start + times.duration,
            phase: phase(&annotation.name, prefill_tokens),
        })
        .collect();
    windows.sort_by(|a, b| a.start.total_cmp(&b.start));
    windows
}

/// The phase of every kernel: that of the window with the greatest start before it, decode outside of windows.
pub(crate) fn find(kernels: &[Doubles], windows: &[Window]) -> Passes {
    let pass_of = |kernel: &Doubles| {
        let behind = windows.partition_point(|window| window.start <= kernel.start);
        let window = behind.checked_sub(1).map(|at| windows[at]).filter(|window| kernel.start <= window.end);
        KernelPass { pass: OUTSIDE, phase: Some(window.map_or(Phase::Decode, |window| window.phase)) }
    };
    Passes { of_kernels: kernels.iter().map(pass_of).collect(), count: 0, has_steps: !windows.is_empty() }
}

fn phase(name: &str, prefill_tokens: i64) -> Phase {
    let prefill = context_tokens(name) >= prefill_tokens && name.contains("generation_0");
    if prefill { Phase::Prefill } else { Phase::Decode }
}

/// The integer in the parentheses of the first part behind a part `context`; 0 if there is none.
fn context_tokens(name: &str) -> i64 {
    let parts: Vec<&str> = name.split('_').collect();
    let inside = parts
        .windows(2)
        .filter(|pair| pair[0] == "context" && pair[1].contains('(') && pair[1].contains(')'))
        .find_map(|pair| pair[1].split_once('(').map(|(_, rest)| rest.split(')').next().unwrap_or("")));
    inside.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_old_form_is_understood() {
        for (name, tokens, expected) in [
            ("execute_context_1(2048)_generation_0(0)", 1, Phase::Prefill),
            ("execute_context_1(1023)_generation_0(0)", 1024, Phase::Decode),
            ("execute_context_1(1024)_generation_0(0)", 1024, Phase::Prefill),
            ("execute_context_1(2048)_generation_1(1)", 1, Phase::Decode),
            ("execute_context_0(0)_generation_0(0)", 1, Phase::Decode),
            ("execute_context_1(888_788544)_generation_0(0)", 1, Phase::Decode),
            ("execute_context_1(x)_generation_0(0)", 1, Phase::Decode),
        ] {
            assert_eq!(phase(name, tokens), expected, "{name}");
        }
    }
}
