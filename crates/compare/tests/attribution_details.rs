//! Single rules of the attribution, each with a trace and a pass that show it.
#![allow(clippy::unwrap_used)]

use perfdb_compare::attribution::{
    Cause, Detail, Explanation, Join, Options, Passes, explain_files, explain_files_and_show,
};
use std::fmt::Write;

/// An operator of the simulator: kernel type, shapes, µs, further members of `args`.
type Operator<'a> = (&'a str, &'a str, u32, &'a str);

fn explained(operators: &[Operator<'_>], pass: &str) -> (Explanation, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (mut trace, mut start) = (String::new(), 0);
    for (kernel_type, shapes, time, more) in operators {
        write!(
            trace,
            r#",{{"name": "aten.op.default", "ph": "X", "ts": {start}, "dur": {time}, "pid": 0, "tid": 0, "args": {{"simulation_shapes": "{shapes}", "kernel_shapes": "{shapes}", "source": "MEASURED", "kernel_type": "{kernel_type}"{more}}}}}"#
        )
        .unwrap();
        start += time;
    }
    let head = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#;
    std::fs::write(folder.path().join("trace.json"), format!("{{\"traceEvents\": [{head}{trace}]}}")).unwrap();
    std::fs::write(folder.path().join("pass.csv"), pass).unwrap();
    let options = Options { passes: Passes::parse("1").unwrap(), ..Options::default() };
    let outcome = explain_files(&folder.path().join("trace.json"), &folder.path().join("pass.csv"), &options).unwrap();
    (outcome.result, outcome.warnings.iter().map(ToString::to_string).collect())
}

/// A measured pass of these kernels: type, shapes, step.
fn pass(kernels: &[(&str, &str, &str)]) -> String {
    let mut text = String::from("Step Id,Type,Start Time(us),Duration(us),Input Shapes\n");
    for (at, (kernel_type, shapes, step)) in kernels.iter().enumerate() {
        writeln!(text, "{step},{kernel_type},{}.0,10,\"\"\"{shapes}\"\"\"", at * 10).unwrap();
    }
    text
}

const GEMM: (&str, &str) = ("MatMulV2", "16,512;512,768");
const GEMM_LIST: &str = "[[16, 512], [512, 768]]";
const ADD: (&str, &str) = ("SwiGlu", "16,1024");
const ADD_LIST: &str = "[[16, 1024]]";

fn calls(predicted: usize, measured: usize) -> (Explanation, Vec<String>) {
    let operators: Vec<Operator<'_>> =
        [(GEMM.0, GEMM_LIST, 10, ""), (ADD.0, ADD_LIST, 10, "")].into_iter().cycle().take(2 * predicted).collect();
    let kernels: Vec<_> = [(GEMM.0, GEMM.1, "1"), (ADD.0, ADD.1, "1")].into_iter().cycle().take(2 * measured).collect();
    explained(&operators, &pass(&kernels))
}

#[test]
fn layers_explain_calls_up_to_an_eighth_more() {
    assert_eq!(calls(9, 8).0.attribution.layers_note.map(|note| note.layers), Some(1));
    assert_eq!(calls(16, 8).0.attribution.layers_note, None);
}

#[test]
fn a_layer_that_lacks_is_one_in_a_pass_cut_inside_a_layer() {
    let layer = [GEMM, ADD, ("RmsNorm", "16,512")];
    let operators: Vec<Operator<'_>> =
        [(GEMM.0, GEMM_LIST, 10, ""), (ADD.0, ADD_LIST, 10, ""), ("RmsNorm", "[[16, 512]]", 10, "")].repeat(64);
    let lacks = |layers: usize| {
        // From the second kernel of the first layer to the second one of the last.
        let kernels = layer.iter().cycle().skip(1).take(3 * (layers - 1) + 1);
        let kernels: Vec<_> = kernels.map(|(kernel_type, shapes)| (*kernel_type, *shapes, "1")).collect();
        explained(&operators, &pass(&kernels)).0.attribution.layers_note.map(|note| note.layers)
    };
    assert_eq!((lacks(63), lacks(62)), (Some(1), Some(2)));
}

#[test]
fn steps_are_counted_where_they_are_written() {
    let of = |steps: [&str; 3]| {
        let kernels: Vec<_> = [GEMM, ADD, ("RmsNorm", "16,512")]
            .iter()
            .zip(steps)
            .map(|(kernel, step)| (kernel.0, kernel.1, step))
            .collect();
        explained(&[(GEMM.0, GEMM_LIST, 10, "")], &pass(&kernels)).1
    };
    assert_eq!(of(["1", "1", "1"]), Vec::<String>::new());
    assert_eq!(of(["", "N/A", "1"]), Vec::<String>::new());
    let told = of(["1", "1", "2"]);
    assert!(told.len() == 1 && told[0].contains("2 forward passes"), "{told:?}");
}

/// An event of the simulator: operator, start, duration in µs, `args`.
fn event(operator: &str, start: u64, time: u32, args: &str) -> String {
    format!(
        r#",{{"name": "{operator}", "ph": "X", "ts": {start}, "dur": {time}, "pid": 0, "tid": 0, "args": {{{args}}}}}"#
    )
}

fn files(events: &str, pass: &str) -> (tempfile::TempDir, [std::path::PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let head = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#;
    let paths = ["trace.json", "pass.csv"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], format!("{{\"traceEvents\": [{head}{events}]}}")).unwrap();
    std::fs::write(&paths[1], pass).unwrap();
    (folder, paths)
}

#[test]
fn three_calls_more_than_eight_are_no_layers() {
    assert_eq!(calls(11, 8).0.attribution.layers_note, None);
}

#[test]
fn narrow_norms_are_of_heads_where_wider_ones_are_there() {
    let predicted = [("RmsNorm", "[[16, 5120]]", 10, ""), ("RmsNorm", "[[16, 128]]", 10, "")];
    let family = |shown: &[Operator<'_>]| {
        let attribution = explained(shown, &pass(&[("RmsNorm", "16,128", "1")])).0.attribution;
        attribution.groups.iter().find(|group| group.shape.contains("128")).unwrap().family.clone()
    };
    assert_eq!((family(&predicted), family(&predicted[1..])), ("rope".to_owned(), "norm_add".to_owned()));
}

#[test]
fn calls_without_shapes_stand_for_all_of_their_type_that_are_about_as_many() {
    let joins = |measured: usize| {
        let kernels: Vec<_> = [("GatherV2", "16,5120", "1"), ("GatherV2", "32,768", "1")].repeat(measured);
        let attribution = explained(&[("GatherV2", "[]", 10, ""); 2], &pass(&kernels)).0.attribution;
        attribution.groups.iter().map(|group| (group.shape.clone(), group.join)).collect::<Vec<_>>()
    };
    assert_eq!(joins(1), [("32,768 and 1 more".to_owned(), Join::Type)]);
    assert!(joins(20).iter().all(|(_, join)| *join != Join::Type), "{:?}", joins(20));
}

#[test]
fn layers_stand_out_by_five_times_what_others_are_off() {
    let (mut events, mut text) = (String::new(), String::from("Type,Start Time(us),Duration(us),Input Shapes\n"));
    for layer in 0..12 {
        let start = 1000 * layer;
        // Most layers take 400 ± 10 µs; 5 times that is 50.
        let first = [390, 410][layer as usize % 2] + [0, 0, 0, 30, 0, 0, 0, 0, 200, 0, 0, 0][layer as usize];
        for (at, (kernel_type, shapes, list), time) in
            [(0, (GEMM.0, GEMM.1, GEMM_LIST), first - 10), (500, (ADD.0, ADD.1, ADD_LIST), 10)]
        {
            let shapes_of = format!(
                r#""simulation_shapes": "{list}", "kernel_shapes": "{list}", "source": "MEASURED", "kernel_type": "{kernel_type}""#
            );
            events += &event("aten.op.default", start + at, 10, &shapes_of);
            writeln!(text, "{kernel_type},{}.0,{time},\"\"\"{shapes}\"\"\"", start + at).unwrap();
        }
    }
    let (_folder, [trace, profile]) = files(&events, &text);
    let options = Options { passes: Passes::parse("1").unwrap(), ..Options::default() };
    let layers = explain_files(&trace, &profile, &options).unwrap().result.layers.unwrap();
    let outliers: Vec<usize> =
        layers.kinds.iter().filter_map(|kind| kind.measured.as_ref()).flat_map(|kind| kind.outliers.clone()).collect();
    assert_eq!(layers.measured_times_ps[8], 590_000_000, "{:?}", layers.measured_times_ps);
    assert_eq!(outliers, [8]);
}

#[test]
fn operators_that_cost_nothing_are_counted_and_left_out() {
    let free = ("Add", "[[1]]", 0, r#", "zero_cost": true"#);
    let explanation = explained(&[(GEMM.0, GEMM_LIST, 10, ""), free, free], &pass(&[(GEMM.0, GEMM.1, "1")])).0;
    assert_eq!((explanation.reconcile.free_events, explanation.attribution.groups.len()), (2, 1));
}

#[test]
fn a_kernel_that_runs_as_often_as_a_composite_operator_may_be_a_part_of_it() {
    // Its kernel is named, so that the operator's time is not that of all its parts, whatever its source.
    let args = format!(
        r#""simulation_shapes": "{GEMM_LIST}", "kernel_shapes": "{GEMM_LIST}", "source": "ANALYTIC", "kernel_type": "MatMulV2""#
    );
    let operators = (0..3).map(|call| event("tensor_cast.mlapo.default", 10 * call, 10, &args)).collect::<String>();
    let composite = |products: usize, times: usize| {
        let kernels =
            [vec![(GEMM.0, GEMM.1, "1"); products], vec![("KvRmsNormRopeCache", "16,576", "1"); times]].concat();
        let (_folder, [trace, profile]) = files(&operators, &pass(&kernels));
        let options = Options { passes: Passes::parse("2").unwrap(), ..Options::default() };
        let contributions = explain_files(&trace, &profile, &options).unwrap().result.attribution.contributions;
        let contribution =
            contributions.into_iter().find(|contribution| contribution.kernel_type == "KvRmsNormRopeCache").unwrap();
        let Detail::Measured(detail) = contribution.detail else { panic!("{contribution:?}") };
        (contribution.cause, detail.measured_calls, detail.composite)
    };
    // Three calls in each of two passes; up to twice as many are about as often.
    assert_eq!(composite(6, 6), (Cause::NotModelled, 3.0, Some("tensor_cast.mlapo.default".to_owned())));
    assert_eq!(composite(6, 12).2, composite(6, 6).2);
    assert_eq!(composite(0, 6), composite(6, 6));
    assert_eq!(composite(6, 14), (Cause::NotModelled, 7.0, None));
}

#[test]
fn traces_of_several_blocks_have_one_clock_and_one_numbering() {
    let args = format!(
        r#""simulation_shapes": "{GEMM_LIST}", "source": "MEASURED", "kernel_type": "MatMulV2", "note": "{}""#,
        "x".repeat(150)
    );
    // Some two megabytes that are read in pieces: from a second to 10 000 times 20 µs later.
    let events: String = (0..8000).map(|at| event("aten.mm.default", 1_000_000 + 20 * at, 5, &args)).collect();
    let pass = pass(&[(GEMM.0, GEMM.1, "1")]);
    let (_folder, [trace, profile]) = files(&events, &pass);
    let timeline = explain_files(&trace, &profile, &Options::default()).unwrap().result.timeline.predicted.unwrap();
    let us = 1_000_000;
    assert_eq!((timeline.elapsed_ps, timeline.busy_ps), ((7999 * 20 + 5) * us, 8000 * 5 * us));
    let (_folder, [trace, profile]) = files(&(events + &event("aten.mm.default", 0, 5, "")), &pass);
    assert!(explain_files(&trace, &profile, &Options::default()).is_ok());
    let without_name = r#",{"ph": "X", "ts": 1, "dur": 1, "pid": 0, "args": {}}"#;
    std::fs::write(&trace, std::fs::read_to_string(&trace).unwrap().replace("]}", &format!("{without_name}]}}")))
        .unwrap();
    let refused = explain_files(&trace, &profile, &Options::default()).unwrap_err().to_string();
    assert!(refused.contains("8002"), "{refused}");
}

#[test]
fn windows_are_named_after_layers_where_there_are_some() {
    let names = |layers: usize| {
        let mut all = Vec::new();
        let operators: Vec<_> = [(GEMM.0, GEMM_LIST), (ADD.0, ADD_LIST)].repeat(layers);
        let events: String = (0..).zip(&operators).map(|(at, (kernel_type, list))| {
            let args = format!(r#""simulation_shapes": "{list}", "kernel_shapes": "{list}", "source": "MEASURED", "kernel_type": "{kernel_type}""#);
            event("aten.op.default", 10 * at, 10, &args)
        }).collect();
        let kernels = [(GEMM.0, GEMM.1, "1"), (ADD.0, ADD.1, "1")].repeat(layers);
        let (_folder, [trace, profile]) = files(&events, &pass(&kernels));
        let options = Options { passes: Passes::parse("1").unwrap(), ..Options::default() };
        explain_files_and_show(&trace, &profile, &options, |explanation, sides| {
            sides.side_by_side().windows::<()>(explanation, |window| {
                all.push(window.name.to_owned());
                Ok(())
            })
        })
        .unwrap()
        .1
        .unwrap();
        all
    };
    assert_eq!(names(1), ["pass"]);
    assert_eq!(names(8)[..3], ["before the layers", "layer 0", "layer 1"]);
}

#[test]
fn collectives_on_two_streams_count_once_wherever_a_pass_begins_and_in_any_order_of_rows() {
    let us = |thousandths: u64| format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    let rows = |offset: u64| -> Vec<String> {
        let layer = |at: u64| {
            let start = offset + 40_000 * at;
            [
                format!("1,MatMulV2,{},10,\"\"\"16,512;512,768\"\"\"", us(start)),
                // The second stream lists it 0.3 us later, in the next microsecond.
                format!("1,hcom_allReduce_,{},8,\"\"\"16,768\"\"\"", us(start + 12_800)),
                format!("1,hcom_allReduce_,{},7,\"\"\"16,768\"\"\"", us(start + 13_100)),
            ]
        };
        (0..6).flat_map(layer).collect()
    };
    let of = |rows: &[String]| {
        let table = format!("Step Id,Type,Start Time(us),Duration(us),Input Shapes\n{}\n", rows.join("\n"));
        explained(&[(GEMM.0, GEMM_LIST, 10, "")], &table).0
    };
    let found = of(&rows(0));
    assert_eq!((found.attribution.measured_ps, found.reconcile.doubled_rows), (6 * 18_000_000, 6));
    for offset in [500, 250, 3_600_000_000] {
        let later = of(&rows(offset));
        assert_eq!((&later.attribution, later.reconcile), (&found.attribution, found.reconcile), "{offset}");
    }
    let mut turned = rows(0);
    turned.reverse();
    turned.swap(2, 9);
    assert_eq!(of(&turned), found);
}
