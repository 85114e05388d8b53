//! Verdicts with their confidence, in words.

use std::fmt::Write as _;

use perfdb_tracediff::{Confidence, Verdict};

use super::wording::counted;

/// The line behind the first two: the elapsed time.
pub(super) fn whole(out: &mut String, confidence: &Confidence) {
    let Verdict { samples: [first, second], per, .. } = confidence.whole;
    if !is_known(&confidence.whole) {
        return;
    }
    let level = confidence.whole.confidence.map_or_else(String::new, |level| format!(" {:.1} %", 100.0 * level));
    let plural = if per == "pass" { "passes" } else { "steps" };
    let samples = if first == second {
        format!("{} each", counted(first, per, plural))
    } else {
        format!("{first} and {second} {plural}")
    };
    let _ = writeln!(out, "confidence{level}: {}{}, from {samples}", words(&confidence.whole), for_runs(confidence));
}

/// What runs vary by, where that counts.
fn for_runs(confidence: &Confidence) -> String {
    let counts = !confidence.whole.by_pass || confidence.run_variation_given;
    if !counts || confidence.whole.interval.is_none() {
        String::new()
    } else {
        format!(", if runs vary by {} %", confidence.run_variation_percent)
    }
}

/// The mark of a verdict beside its difference: what trace 2 is.
pub(super) fn mark(verdict: &Verdict) -> &'static str {
    match verdict.verdict {
        "slower" => "slow",
        "faster" => "fast",
        "same" => "same",
        _ => "?",
    }
}

/// Whether there is anything to have confidence in: where passes are not known, the elapsed time has no samples.
pub(crate) fn is_known(whole: &Verdict) -> bool {
    whole.samples != [0, 0]
}

/// The heading of intervals, which cover together: times per call are next to them, which differ from those per pass.
pub(crate) fn per_what(confidence: &Confidence) -> String {
    let per = confidence.operations.first().map_or_else(String::new, |row| format!(", per {}", row.verdict.per));
    format!("99 % interval{per}")
}

/// The verdict on an operation.
pub(crate) fn of_operation<'d>(confidence: &'d Confidence, operation: &str) -> Option<&'d Verdict> {
    confidence.operations.iter().find(|row| row.operation == operation).map(|row| &row.verdict)
}

/// `slower by 1.2 to 3.4 %` and similar; of calls of the same shape where the traces have other ones.
pub(crate) fn words(verdict: &Verdict) -> String {
    if !verdict.together_with.is_empty() {
        return format!("{}, together with {}", of_calls(verdict), verdict.together_with.join(", "));
    }
    let Some(mix) = verdict.mix else { return of_calls(verdict) };
    match mix.ratio {
        Some(ratio) => {
            format!("{} for calls of the same shape; the other mix of calls makes x {ratio:.3}", of_calls(verdict))
        }
        None => format!("{} of calls of the same shape", of_calls(verdict)),
    }
}

fn of_calls(verdict: &Verdict) -> String {
    let Some([low, high]) = verdict.interval else {
        return format!("inconclusive, {}", verdict.reason.unwrap_or("too few samples"));
    };
    // Calls of few passes say nothing about other passes.
    let within = match verdict.per {
        _ if verdict.by_pass || verdict.samples == [1, 1] => "",
        "step" => " within these steps",
        "pass" => " within these passes",
        _ => "",
    };
    let [low, high] = [low, high].map(|ratio| 100.0 * (ratio - 1.0));
    match verdict.verdict {
        // Percents of so much more are read as factors anyway.
        "slower" if low >= 100.0 => {
            format!("slower, {:.2} to {:.2} x as long{within}", 1.0 + low / 100.0, 1.0 + high / 100.0)
        }
        "slower" => format!("slower by {low:.1} to {high:.1} %{within}"),
        "faster" => format!("faster by {:.1} to {:.1} %{within}", -high, -low),
        "same" => format!("same within {:.1} %{within}", low.abs().max(high.abs()).max(0.1)),
        _ => match verdict.detectable_percent.filter(|percent| *percent <= 100.0) {
            Some(percent) => format!("inconclusive (smallest detectable difference {percent:.1} %)"),
            None => "inconclusive, times vary too much".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::words;
    use perfdb_tracediff::{Mix, Verdict};

    #[test]
    fn another_mix_of_calls_is_named() {
        let mut verdict = Verdict {
            verdict: "same",
            per: "call",
            samples: [40, 30],
            ratio: Some(1.0),
            interval: Some([0.998, 1.006]),
            confidence: Some(0.99),
            detectable_percent: Some(1.1),
            reason: None,
            paired: false,
            by_pass: true,
            together_with: Vec::new(),
            mix: Some(Mix { ratio: Some(0.61), like_percent: [95.0, 100.0] }),
        };
        assert_eq!(
            words(&verdict),
            "same within 0.6 % for calls of the same shape; the other mix of calls makes x 0.610"
        );
        verdict = Verdict { verdict: "cannot tell", ratio: None, interval: None, detectable_percent: None, ..verdict };
        verdict.mix = Some(Mix { ratio: None, like_percent: [10.0, 10.0] });
        assert_eq!(words(&verdict), "inconclusive, too few samples of calls of the same shape");
    }

    #[test]
    fn words_say_what_the_interval_says() {
        let verdict = |verdict, interval| Verdict {
            verdict,
            per: "pass",
            samples: [40, 40],
            ratio: Some(1.0),
            interval,
            confidence: Some(0.99),
            detectable_percent: Some(4.23),
            reason: None,
            paired: false,
            by_pass: true,
            together_with: Vec::new(),
            mix: None,
        };
        for (given, expected) in [
            (verdict("slower", Some([1.012, 1.034])), "slower by 1.2 to 3.4 %"),
            (verdict("slower", Some([2.125, 3.5])), "slower, 2.12 to 3.50 x as long"),
            (verdict("faster", Some([0.9, 0.95])), "faster by 5.0 to 10.0 %"),
            (verdict("same", Some([0.998, 1.006])), "same within 0.6 %"),
            (verdict("same", Some([1.0, 1.0])), "same within 0.1 %"),
            (verdict("cannot tell", Some([0.98, 1.03])), "inconclusive (smallest detectable difference 4.2 %)"),
            (verdict("cannot tell", None), "inconclusive, too few samples"),
        ] {
            assert_eq!(words(&given), expected);
        }
    }
}
