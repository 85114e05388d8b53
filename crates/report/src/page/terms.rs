//! What the terms on pages mean, for the `?` beside them.

/// A term and its meaning. A heading has the meaning of the longest term that it begins with.
const TERMS: [(&str, &str); 40] = [
    ("Advice", "Where to look first in the trace that takes longer."),
    ("Bandwidth", "Bytes that an operator must move by the time that it takes."),
    ("Bound", "What limits an operator on its device: compute, memory or link."),
    ("By calls", "The part of the difference that more or fewer calls make."),
    ("By hardware", "The part of the difference that the peaks of the devices make."),
    ("By kernel", "The part of the difference that is left: what the kernels make of their device."),
    ("By time per call", "The part of the difference that slower or faster calls make."),
    ("By work", "The part of the difference that more or fewer calls of an operator make."),
    ("Bytes", "Bytes that one call must move, from its shapes and types."),
    ("Calls", "How often it runs; 1 and 2 are the traces."),
    ("Change", "The difference by the time of the first side."),
    (
        "Confidence",
        "Probability that the interval beside it holds the true difference; inconclusive: the difference is inside the noise.",
    ),
    ("Difference", "Second side less first side: above 0, the second one takes longer."),
    ("Each", "Mean time of a call."),
    ("Error", "Predicted less measured time, by the measured one."),
    ("Family", "What kind of work an operation does, such as GEMM, attention or copies."),
    ("Gross", "The sum of all errors without their signs."),
    ("In both traces", "Part of the kernel time in operations that both traces have."),
    ("Interval", "Where the true value lies with the probability that is named."),
    ("Kernel", "A program that runs on the device, by its whole name."),
    ("Kernels", "How many kernels run; 1 and 2 are the traces."),
    ("Layer", "Number of a layer of the model, from 0."),
    ("Measured", "Time as the profiler recorded it."),
    ("Of peak", "Least time that the peaks of the device allow by the time that it takes; 1 and 2 are the traces."),
    ("Operation", "A class of kernels that do the same kind of work."),
    ("Operator", "What the framework calls; it launches the kernels."),
    ("Predicted", "Time as the simulator or the database predicts it."),
    ("Shapes", "Sizes of the tensors that an operator works on."),
    ("Share", "Part of the whole time."),
    ("Speed", "Operations of an operator by the time that it takes."),
    (
        "Takes longer in",
        "Part of time or family of operations in which that trace takes longer by more than the noise.",
    ),
    ("To be had", "Time per pass that is won if the slower trace becomes as fast as the other one there."),
    ("Trace 1", "The first of the two traces that were given."),
    ("Trace 2 ÷ trace 1", "Below 1: trace 2 is faster."),
    ("Trace 2", "The second of the two traces that were given."),
    ("Trace", "Which of the two traces: 1 or 2."),
    ("Types", "Data types of the tensors."),
    ("Why", "How both sides do the same work, and which one is faster."),
    ("Work", "What is done at this place of a layer, or by one call."),
    (
        "99 % interval",
        "Where the true difference of trace 2 from trace 1 lies; all intervals of the page hold together in about 99 of 100 reports.",
    ),
];

/// What trust means, the same on every page.
pub(crate) const TRUST: &str = "How far the figures of this page can be trusted. high: decide by them. medium: read the reason first. low: do not decide by them.";

/// The meaning of a heading, where its term is known.
pub(crate) fn meaning(heading: &str) -> Option<&'static str> {
    let begins = |term: &str| {
        let rest =
            heading.get(..term.len()).filter(|start| start.eq_ignore_ascii_case(term)).map(|_| &heading[term.len()..]);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
    };
    let found = TERMS.iter().filter(|(term, _)| begins(term));
    found.max_by_key(|(term, _)| term.len()).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::meaning;

    #[test]
    fn the_longest_term_tells() {
        let start = |heading| meaning(heading).map(|text| text.split(' ').take(3).collect::<Vec<_>>().join(" "));
        assert_eq!(start("Trace 2 ÷ trace 1").as_deref(), Some("Below 1: trace"));
        assert_eq!(start("Calls 1").as_deref(), Some("How often it"));
        assert_eq!(start("Kernel of trace 1").as_deref(), Some("A program that"));
        assert_eq!(start("Traces"), None);
        assert_eq!(start("÷"), None);
    }
}
