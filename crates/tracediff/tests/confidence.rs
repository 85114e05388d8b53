//! Verdicts on traces: one trace cut in two has none, what was planted is found.

use std::fmt::Write as _;

use perfdb_tracediff::{
    AnalysisOptions, Confidence, Document, LoadOptions, PlainDocument, RunVariation, Trace, analyse,
};

/// SplitMix64: the same draws everywhere.
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + 1e-17
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

const LAYERS: usize = 4;

/// Kernels of a layer: name, us, coefficient of variation.
const LAYER: [(&str, f64, f64); 6] = [
    ("void flash::flash_fwd_kernel<Traits>(Params)", 90.0, 0.05),
    ("nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN", 140.0, 0.02),
    ("void vllm::rms_norm_kernel<c10::BFloat16>(int)", 12.0, 0.022),
    ("nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN", 140.0, 0.02),
    ("void vllm::act_and_mul_kernel<c10::BFloat16, true>(int)", 20.0, 0.1),
    ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(int)", 15.0, 0.15),
];

/// A trace of passes; `scale` is by how much longer the norms take.
fn trace(draws: &mut Draws, passes: usize, scale: f64, is_kept: impl Fn(usize) -> bool) -> Trace {
    loaded(&text(draws, passes, scale, is_kept))
}

fn loaded(text: &str) -> Trace {
    let text = std::io::Cursor::new(text.to_owned());
    Trace::from_reader("t.json", text, &LoadOptions::default()).expect("a trace")
}

fn text(draws: &mut Draws, passes: usize, scale: f64, is_kept: impl Fn(usize) -> bool) -> String {
    let mut events = String::new();
    let mut at = 1000.0;
    for pass in 0..passes {
        let begin = at;
        let mut kernels = String::new();
        for (number, (name, mean, variation)) in (0..LAYERS).flat_map(|_| LAYER).enumerate() {
            let scale = if name.contains("rms_norm") { scale } else { 1.0 };
            let time = scale * mean * (1.0 + variation * draws.normal());
            let id = pass * 1000 + number;
            // Writing to a String cannot fail.
            let _ = write!(
                kernels,
                r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": {:.3}, "dur": 0.1, "args": {{"correlation": {id}}}}},
                {{"ph": "X", "cat": "kernel", "name": "{name}", "ts": {:.3}, "dur": {time:.3}, "args": {{"device": 0, "stream": 7, "correlation": {id}}}}},"#,
                begin + 1.0 + number as f64 * 0.2,
                at + 20.0
            );
            at += time + 1.0;
        }
        at += 60.0;
        if is_kept(pass) {
            let _ = write!(
                events,
                r#"{{"ph": "X", "cat": "user_annotation", "name": "step[DECODE bs=8]", "ts": {begin:.3}, "dur": 18}},{kernels}"#
            );
        }
    }
    format!(r#"{{"traceEvents": [{}]}}"#, events.trim_end_matches(','))
}

fn document(first: &Trace, second: &Trace, options: &AnalysisOptions) -> Box<PlainDocument> {
    match analyse(first, second, options).expect("a comparison").document {
        Document::Plain(found) => found,
        _ => unreachable!("a plain document was asked for"),
    }
}

fn confidence(first: &Trace, second: &Trace) -> Confidence {
    let options = AnalysisOptions { confidence: true, ..AnalysisOptions::default() };
    document(first, second, &options).details.confidence.expect("verdicts")
}

fn verdict<'a>(found: &'a Confidence, operation: &str) -> &'a perfdb_tracediff::Verdict {
    &found.operations.iter().find(|row| row.operation == operation).expect("an operation").verdict
}

#[test]
fn one_trace_cut_in_two_raises_no_alarm() {
    let alarms: usize = (0..100)
        .map(|seed| {
            let half = |odd: usize| trace(&mut Draws(seed), 16, 1.0, |pass| pass % 2 == odd);
            let found = confidence(&half(0), &half(1));
            assert_eq!((found.operations.len(), verdict(&found, "RMSNorm").samples), (5, [32, 32]));
            // The gaps where the other half was are in the elapsed time of both.
            usize::from(found.operations.iter().any(|row| matches!(row.verdict.verdict, "slower" | "faster")))
        })
        .sum();
    assert!(alarms <= 1, "{alarms} of 100 reports");
}

#[test]
fn a_planted_slowdown_of_three_percent_is_found() {
    let found = (0..100)
        .filter(|seed| {
            let mut draws = Draws(1000 + seed);
            let first = trace(&mut draws, 8, 1.0, |_| true);
            let second = trace(&mut draws, 8, 1.03, |_| true);
            verdict(&confidence(&first, &second), "RMSNorm").verdict == "slower"
        })
        .count();
    assert!(found >= 95, "{found} of 100");
}

#[test]
fn a_trace_against_itself_is_the_same() {
    let one = trace(&mut Draws(5), 8, 1.0, |_| true);
    let found = confidence(&one, &one);
    assert_eq!((found.whole.verdict, found.whole.samples, found.whole.per), ("same", [8, 8], "pass"));
    assert!(found.operations.iter().all(|row| row.verdict.verdict == "same" && row.verdict.paired), "{found:?}");
}

#[test]
fn one_pass_says_nothing_of_passes_and_something_of_calls() {
    let mut draws = Draws(9);
    let traces = [1.0, 1.5].map(|scale| trace(&mut draws, 1, scale, |_| true));
    let found = confidence(&traces[0], &traces[1]);
    assert_eq!((found.whole.verdict, found.whole.by_pass), ("cannot tell", false));
    let [low, high] = found.whole.interval.expect("what runs vary by");
    assert!(low < 0.92 && high > 1.08, "{low} {high}");
    let norm = verdict(&found, "RMSNorm");
    assert_eq!((norm.verdict, norm.samples), ("slower", [4, 4]));
    let [low, high] = norm.interval.expect("an interval");
    assert!(low < 1.5 && 1.5 < high, "{norm:?}");
}

/// A trace of kernels alone, whose passes nobody annotated: the layers of each, and by which factor it takes longer.
fn unmarked(draws: &mut Draws, passes: &[(usize, f64)]) -> Trace {
    /// What comes before the layers of a pass.
    const BEFORE: [(&str, f64, f64); 3] = [
        ("void vllm::embedding_kernel<float>(int)", 8.0, 0.02),
        ("void at::native::index_elementwise_kernel<128, 4>(long)", 6.0, 0.02),
        ("void at::native::reduce_kernel<512, 1>(int)", 7.0, 0.02),
    ];
    let mut events = String::new();
    let mut at = 1000.0;
    for (layers, factor) in passes {
        let layers = (0..*layers).flat_map(|_| LAYER.map(|(name, mean, _)| (name, mean, 0.02)));
        for (name, mean, variation) in BEFORE.into_iter().chain(layers) {
            let time = factor * mean * (1.0 + variation * draws.normal());
            // Writing to a String cannot fail.
            let _ = write!(
                events,
                r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "ts": {at:.3}, "dur": {time:.3}, "args": {{"device": 0, "stream": 7}}}},"#,
            );
            at += time + 1.0;
        }
    }
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.trim_end_matches(','));
    Trace::from_reader("t.json", std::io::Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

#[test]
fn a_slow_pass_that_nobody_annotated_does_not_make_a_slow_trace() {
    let product = |seed: u64, first: [f64; 2], second: [f64; 2]| {
        let mut draws = Draws(seed);
        // The profiler ended within the second pass.
        let traces = [first, second].map(|[one, two]| unmarked(&mut draws, &[(12, one), (11, two)]));
        let found = confidence(&traces[0], &traces[1]);
        let product = verdict(&found, "Dense GEMM");
        product.verdict
    };
    for seed in 0..5 {
        assert_eq!(product(seed, [1.0, 1.04], [1.0, 1.0]), "cannot tell");
        // As much may be the run.
        assert_eq!(product(seed, [1.0, 1.0], [1.03, 1.03]), "cannot tell");
        assert_eq!(product(seed, [1.0, 1.0], [1.2, 1.2]), "slower");
    }
}

/// Four calls of a pass that nobody annotated, a long one and three short ones: kernel, us, shapes of the operator `aten::mm` or none.
type Four = [(&'static str, f64, &'static str); 4];

const GATHERS: Four = {
    const SHORT: (&str, f64, &str) = ("void at::native::indexSelectSmallIndex<c10::BFloat16, long>(int)", 5.0, "");
    [("void at::native::indexSelectLargeIndex<c10::BFloat16, long>(int)", 40.0, ""), SHORT, SHORT, SHORT]
};
const PRODUCTS: Four = {
    const KERNEL: &str = "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN";
    const SHORT: (&str, f64, &str) = (KERNEL, 5.0, "[[64, 512], [512, 512]]");
    [(KERNEL, 40.0, "[[64, 4096], [4096, 4096]]"), SHORT, SHORT, SHORT]
};

/// Passes of four calls, which take longer by a factor; begun and ended anywhere.
fn cut(draws: &mut Draws, pass: Four, passes: std::ops::Range<f64>, factor: f64) -> Trace {
    let [first, last] = [passes.start, passes.end].map(|at| (4.0 * at).round() as usize);
    let mut events = String::new();
    let mut at = 1000.0;
    for number in first..last {
        let (name, mean, shapes) = pass[number % 4];
        let time = factor * mean * (1.0 + 0.01 * draws.normal());
        if !shapes.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(
                events,
                r#"{{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": {at:.3}, "dur": 0.5, "args": {{"External id": {number}, "Input Dims": {shapes}, "Input type": ["c10::BFloat16", "c10::BFloat16"]}}}},"#,
            );
        }
        let _ = write!(
            events,
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "ts": {at:.3}, "dur": {time:.3}, "args": {{"device": 0, "stream": 7, "External id": {number}}}}},"#,
        );
        at += time + 1.0;
    }
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.trim_end_matches(','));
    Trace::from_reader("t.json", std::io::Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

#[test]
fn traces_that_were_cut_elsewhere_hold_other_calls_and_no_slower_ones() {
    for (pass, operation) in [(GATHERS, "Indexing"), (PRODUCTS, "Dense GEMM")] {
        let mut alarms = 0;
        for seed in 0..100 {
            let mut draws = Draws(seed);
            // Nine long calls of 33, and four of 19.
            let [first, second] = [0.0..8.25, 8.25..13.0].map(|passes| cut(&mut draws, pass, passes, 1.0));
            let found = confidence(&first, &second);
            let found = verdict(&found, operation);
            alarms += usize::from(matches!(found.verdict, "slower" | "faster"));
            let mix = found.mix.expect("another mix");
            assert!((mix.ratio.expect("a ratio") - 0.850).abs() < 0.01 && mix.like_percent == [100.0; 2], "{mix:?}");
        }
        // Of 1 % as many, by chance alone, in 99 of 100 tests.
        assert!(alarms <= 3, "{operation}: {alarms} of 100");
    }
}

#[test]
fn like_calls_that_are_slower_are_found_in_another_mix() {
    for (pass, operation) in [(GATHERS, "Indexing"), (PRODUCTS, "Dense GEMM")] {
        let is_found = |seed: &u64| {
            let mut draws = Draws(1000 + seed);
            let (first, second) = (cut(&mut draws, pass, 0.0..8.25, 1.0), cut(&mut draws, pass, 0.25..8.0, 1.15));
            // By all calls it would be faster: the second has two long calls less.
            verdict(&confidence(&first, &second), operation).verdict == "slower"
        };
        let found = (0..100).filter(is_found).count();
        assert!(found >= 95, "{operation}: {found} of 100");
    }
}

#[test]
fn verdicts_are_left_out_unless_asked_for() {
    let one = trace(&mut Draws(5), 2, 1.0, |_| true);
    let document = analyse(&one, &one, &AnalysisOptions::default()).expect("a comparison").document;
    assert!(matches!(document, Document::Plain(found) if found.details.confidence.is_none()));
}

#[test]
fn a_kernel_of_another_name_in_its_place_is_the_same_work() {
    let named = text(&mut Draws(21), 8, 1.0, |_| true);
    for name in [LAYER[1].0, LAYER[0].0] {
        let renamed = loaded(&named.replace(name, "zz_fresh_kernel_v2"));
        for traces in [[&loaded(&named), &renamed], [&renamed, &loaded(&named)]] {
            let found = confidence(traces[0], traces[1]);
            assert!(
                found.operations.iter().all(|row| !matches!(row.verdict.verdict, "slower" | "faster")),
                "{found:?}"
            );
            assert_eq!(found.whole.verdict, "same");
        }
    }
}

/// A trace runs two products of its experts apart, another one the activation inside one of them: the verdict is on both together.
#[test]
fn a_class_whose_work_is_in_another_class_has_no_verdict_of_its_own() {
    let layer = |first: &str, first_us: f64, second: &str, second_us: f64| {
        let mut events = String::new();
        let mut draws = Draws(8);
        let mut at = 0.0;
        for pass in 0..8 {
            let begin = at;
            let mut id = 1000 * pass;
            for _ in 0..12 {
                for (name, time) in
                    [("flash_fwd_kernel", 30.0), ("nvjet_tst_a", 20.0), (first, first_us), (second, second_us)]
                {
                    let time = time * (1.0 + 0.01 * draws.normal());
                    id += 1;
                    // Writing to a String cannot fail.
                    let _ = write!(
                        events,
                        r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": {:.3}, "dur": 0.1, "args": {{"correlation": {id}}}}},
                        {{"ph": "X", "cat": "kernel", "name": "{name}", "ts": {:.3}, "dur": {time:.3}, "args": {{"device": 0, "stream": 7, "correlation": {id}}}}},"#,
                        begin + 0.2 + f64::from(id % 1000) * 0.2,
                        at + 20.0
                    );
                    at += time + 1.0;
                }
            }
            let _ = write!(
                events,
                r#"{{"ph": "X", "cat": "user_annotation", "name": "step[DECODE bs=8]", "ts": {begin:.3}, "dur": 15}},"#
            );
            at += 60.0;
        }
        loaded(&format!(r#"{{"traceEvents": [{}]}}"#, events.trim_end_matches(',')))
    };
    let fused = layer("bmm_fused_moe_swiGlu_dynBatch", 45.0, "bmm_moe_dynBatch", 25.0);
    let apart = layer("fused_moe_kernel", 40.0, "fused_moe_kernel", 30.0);
    let found = confidence(&fused, &apart);
    let experts: Vec<_> = found.operations.iter().filter(|row| row.operation.contains("MoE")).collect();
    assert!(!experts.is_empty(), "{found:?}");
    for row in experts {
        assert!(!row.verdict.together_with.is_empty() && row.verdict.verdict == "same", "{row:?}");
    }
}

#[test]
fn exchanged_traces_have_mirrored_verdicts_noise_and_advice() {
    let mut draws = Draws(33);
    let [first, second] = [(7, 1.0), (9, 2.0)].map(|(passes, scale)| trace(&mut draws, passes, scale, |_| true));
    let options = AnalysisOptions { confidence: true, ..AnalysisOptions::default() };
    let [one, other] = [document(&first, &second, &options), document(&second, &first, &options)];
    let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9 * wanted.abs().max(1.0);
    let mirror = |verdict| match verdict {
        "slower" => "faster",
        "faster" => "slower",
        same => same,
    };
    let verdicts = |found: &PlainDocument| {
        let confidence = found.details.confidence.as_ref().expect("verdicts");
        let rows = confidence.operations.iter().map(|row| (row.operation.clone(), row.verdict.clone()));
        let mut all: Vec<_> = rows.chain([("whole".to_owned(), confidence.whole.clone())]).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    assert_eq!(verdicts(&one).len(), 6);
    for ((name, a), (other_name, b)) in verdicts(&one).iter().zip(verdicts(&other)) {
        assert_eq!((name, mirror(a.verdict)), (&other_name, b.verdict));
        let ([low, high], [other_low, other_high]) = (a.interval.expect("enough"), b.interval.expect("enough"));
        assert!(near(low * other_high, 1.0) && near(high * other_low, 1.0), "{name}: {a:?} {b:?}");
        assert!(near(a.detectable_percent.expect("known"), b.detectable_percent.expect("known")), "{name}");
    }
    let [one, other] = [one, other].map(|found| found.details.elapsed.expect("elapsed times"));
    for row in &one.waterfall {
        let back = other.waterfall.iter().find(|back| back.row == row.row).expect("the same rows");
        assert!(near(row.difference_ms, -back.difference_ms) && row.matters == back.matters, "{row:?} {back:?}");
        assert!(near(row.noise_ms.expect("known"), back.noise_ms.expect("known")), "{row:?} {back:?}");
    }
    let advice = |found: &perfdb_tracediff::ElapsedReport, turned: bool| {
        let of =
            |step: &perfdb_tracediff::NextStep| (if turned { 3 - step.trace } else { step.trace }, step.row.clone());
        found.next_steps.iter().map(of).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(!advice(&one, false).is_empty());
    assert_eq!(advice(&one, false), advice(&other, true));
}

#[test]
fn what_runs_vary_by_counts_for_many_passes_where_it_is_given() {
    let mut draws = Draws(61);
    let [first, second] = [1.0, 1.08].map(|scale| trace(&mut draws, 8, scale, |_| true));
    let with = |run_variation| {
        let options = AnalysisOptions { confidence: true, run_variation, ..AnalysisOptions::default() };
        document(&first, &second, &options).details.confidence.expect("verdicts")
    };
    let [assumed, given, none] = [
        RunVariation::default(),
        RunVariation::of_percent(6.0).expect("percent"),
        RunVariation::of_percent(0.0).expect("percent"),
    ]
    .map(with);
    assert_eq!((assumed.run_variation_given, given.run_variation_given), (false, true));
    let width = |found: &Confidence| found.whole.interval.map(|[low, high]| high / low).expect("enough passes");
    assert!(assumed.whole.by_pass && given.whole.by_pass && assumed.whole.interval == none.whole.interval);
    // A difference of two runs lies within 3.29 √2 times 6 %.
    assert!((1.7..1.9).contains(&width(&given)) && width(&assumed) < 1.2, "{} {}", width(&given), width(&assumed));
    assert_eq!((given.whole.verdict, verdict(&assumed, "RMSNorm").verdict), ("cannot tell", "slower"));
}
