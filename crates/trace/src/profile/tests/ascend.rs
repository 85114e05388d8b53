//! Tables and timelines of Ascend's profiler.

use crate::profile::{Kind, Mark, Profile, StepBasis, open};

fn read(name: &str, text: &str) -> Profile {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("writes");
    open(&path, 1).expect("reads").expect("a profile")
}

fn names(profile: &Profile) -> Vec<&str> {
    profile.kernels.iter().map(|kernel| profile.names.get(kernel.name)).collect()
}

#[test]
fn rows_are_kernels_with_exact_times_and_collectives_count_once() {
    let profile = read(
        "anything",
        "\u{feff}Device_id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\n\
         0,2,aclnnMatmul_12,MatMulV3,AI_CORE,\"1736413971558972.912\t\",185.504\t,1\n\
         0,N/A,hcom_allReduce__1,hcom_allReduce_,HCCL,1736413971559000.5,10,0\n\
         0,48,hcom_allReduce__1,hcom_allReduce_,HCCL,1736413971559000.5,10,0\n\
         0,50,x,allgatherAicpuKernel,AI_CPU,1736413971559000.5,10,0\n\
         1,2,aclnnMatmul_12,MatMulV3,AI_CORE,5,1,0\n\
         0,2,a,Add,AI_VECTOR_CORE,nan,1,0\n\
         0,2,a,Add,AI_VECTOR_CORE,7,-1,0\n\
         0,2,a,Add\n",
    );
    assert_eq!(profile.kind, Kind::AscendTable);
    assert_eq!(names(&profile), ["MatMulV3", "hcom_allReduce_", "allgatherAicpuKernel", "MatMulV3"]);
    assert_eq!((profile.skipped, profile.repeated), (3, 1));
    let first = profile.kernels.get(0).expect("a row");
    assert_eq!((first.start, first.duration), (1_736_413_971_558_972_912_000, 185_504_000));
    let marks: Vec<Mark> = profile.kernels.iter().map(|kernel| kernel.mark).collect();
    assert_eq!(marks, [Mark::Nothing, Mark::Collective, Mark::Collective, Mark::Nothing]);
    let devices: Vec<i64> = profile.kernels.iter().map(|kernel| kernel.device).collect();
    assert_eq!(devices, [0, 0, 0, 1]);
    assert!(profile.steps.is_none());
}

#[test]
fn names_of_op_summary_mean_the_same() {
    let profile = read(
        "op_summary.csv",
        "Device_id,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n3,2,a_1,Add,AI_CORE,1,2\n",
    );
    assert_eq!(names(&profile), ["Add"]);
    assert_eq!(profile.kernels.get(0).expect("a row").device, 3);
}

#[test]
fn a_column_names_the_steps_where_it_says_something() {
    let header = "Step Id,Type,Start Time(us),Duration(us)\n";
    let profile = read("a", &format!("{header}19,Add,1,1\n,Add,2,1\n20,Mul,3,1\n19,Add,4,1\n"));
    let steps = profile.steps.expect("steps");
    assert_eq!(steps.basis, StepBasis::Column);
    assert_eq!(steps.names, ["Step Id 19", "Step Id 20"]);
    assert_eq!(steps.of_kernels, [Some(0), None, Some(1), Some(0)]);
    assert_eq!(read("a", &format!("{header}N/A,Add,1,1\n")).steps, None);
}

#[test]
fn pauses_between_equally_many_rows_separate_passes() {
    let rows = |sizes: &[usize]| {
        let mut text = "Type,Start Time(us),Duration(us)\n".to_owned();
        for (pass, size) in sizes.iter().enumerate() {
            for row in 0..*size {
                text += &format!("Add,{},1\n", pass * 10_000 + row);
            }
        }
        read("a", &text).steps
    };
    let steps = rows(&[20, 22]).expect("steps");
    assert_eq!(steps.basis, StepBasis::Pause);
    assert_eq!(steps.names, ["pass 0", "pass 1"]);
    assert_eq!(steps.of_kernels.iter().filter(|step| **step == Some(1)).count(), 22);
    // Too few rows, too different, and no pause.
    assert!(rows(&[19, 19]).is_none() && rows(&[20, 23]).is_none() && rows(&[40]).is_none());
}

const TIMELINE: &str = r#"[
    {"ph": "X", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": "100.5", "dur": "900", "cat": "cpu_op"},
    {"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": "110", "dur": 20, "cat": "cpu_op", "args": {"Input Dims": [[2, 3], [3, 4]]}},
    {"ph": "X", "name": "aten::matmul", "pid": 1, "tid": 1, "ts": "110", "dur": 30, "cat": "cpu_op"},
    {"ph": "s", "cat": "async_npu", "name": "a", "id": "7", "pid": 1, "tid": 1, "ts": "110"},
    {"ph": "f", "cat": "async_npu", "name": "a", "id": "7", "pid": 8, "tid": 3, "ts": "200.001"},
    {"ph": "X", "name": "Node@launch", "pid": 2, "tid": 5, "ts": "150", "dur": 1.5},
    {"ph": "X", "name": "launch", "pid": 2, "tid": 5, "ts": "150", "dur": "2.5"},
    {"ph": "s", "cat": "HostToDevice", "name": "b", "id": "9", "pid": 2, "tid": 5, "ts": "150"},
    {"ph": "f", "cat": "HostToDevice", "name": "b", "id": "9", "pid": 8, "tid": 3, "ts": "200.001"},
    {"ph": "X", "name": "aclnnMm_MatMulCommon_MatMulV2", "pid": 8, "tid": 3, "ts": "200.001", "dur": "10.0000005", "args": {"Task Type": "AI_CORE"}},
    {"ph": "X", "name": "EVENT_WAIT", "pid": 8, "tid": 3, "ts": 220, "dur": 5, "args": {"Task Type": "EVENT_WAIT"}},
    {"ph": "X", "name": "MEMCPY_ASYNC", "pid": 8, "tid": 4, "ts": "230", "dur": "3", "args": {"Task Type": "MEMCPY_ASYNC"}},
    {"ph": "X", "name": "hcom_allReduce__1", "pid": 9, "tid": 0, "ts": "240", "dur": "6"},
    {"ph": "X", "name": "Reduce_Inline", "pid": 9, "tid": 1, "ts": "241", "dur": "2"},
    {"ph": "X", "name": "Computing", "pid": 10, "tid": 0, "ts": "200", "dur": "10"},
    {"ph": "X", "name": "lost", "pid": 8, "tid": 3, "ts": "later", "dur": "10"},
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "Python"}},
    {"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "CANN"}},
    {"ph": "M", "name": "process_name", "pid": 8, "tid": 0, "args": {"name": "Ascend Hardware"}},
    {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "Communication"}},
    {"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "args": {"name": "Overlap Analysis"}},
    {"ph": "M", "name": "thread_name", "pid": 9, "tid": 0, "args": {"name": "Group 0 Communication"}},
    {"ph": "M", "name": "thread_name", "pid": 9, "tid": 1, "args": {"name": "Plane 0"}}
]"#;

#[test]
fn a_timeline_gives_devices_rows_with_their_launches_and_operators() {
    let profile = read("trace", TIMELINE);
    assert_eq!(profile.kind, Kind::AscendTimeline);
    assert_eq!(names(&profile), ["aclnnMm_MatMulCommon_MatMulV2", "hcom_allReduce__1"]);
    assert_eq!(profile.kernels.get(1).expect("a row").mark, Mark::Collective);
    let first = profile.kernels.get(0).expect("a row");
    assert_eq!((first.start, first.duration), (200_001_000, 10_000_000));
    assert_eq!(profile.copies.len(), 1);
    assert_eq!(profile.skipped, 1);
    // The longest call at the place of the flow.
    let launch =
        profile.kernels.get(0).and_then(|kernel| profile.launches.get(kernel.launch? as usize)).expect("a launch");
    assert_eq!((launch.start, launch.duration), (150_000_000, 2_500_000));
    // The innermost operator.
    let operator = &profile.operators[launch.operator.expect("an operator") as usize];
    assert_eq!(profile.names.get(operator.name), "aten::mm");
    assert_eq!(profile.names.get(operator.dims), "[[2, 3], [3, 4]]");
    assert_eq!(profile.names.get(profile.annotations[0].name), "ProfilerStep#1");
    let class = |at: usize| profile.kind.class_of(profile.kernels.get(at).expect("a row").mark, names(&profile)[at]);
    assert_eq!((class(0), class(1)), (Some("Dense GEMM"), Some("Communication")));
}

#[test]
fn a_list_of_events_without_a_process_of_ascend_is_no_timeline() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("trace.json");
    std::fs::write(&path, r#"[{"ph": "X", "name": "a", "ts": "1", "dur": 2}]"#).expect("writes");
    assert!(open(&path, 1).expect("reads").is_none());
}

#[test]
fn damaged_tables_and_timelines_are_read_or_refused_and_never_panic() {
    let table = "Device_id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Step Id\n\
        0,2,\"a, b\",MatMulV3,AI_CORE,\"1736413971558972.912\t\",185.504,1,1\n\
        0,N/A,hcom_allReduce__1,hcom_allReduce_,HCCL,1736413971559000.5,10,0,2\n";
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("input");
    let mut state = 7_u64;
    for round in 0..2000 {
        let mut damaged = if round % 2 == 0 { table } else { TIMELINE }.as_bytes().to_vec();
        for _ in 0..6 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % damaged.len();
            match state % 3 {
                0 => damaged[at] = (state >> 25) as u8,
                1 => drop(damaged.remove(at)),
                _ => damaged.insert(at, b"\",\n\t09"[(state >> 40) as usize % 6]),
            }
        }
        std::fs::write(&path, &damaged).expect("writes");
        if let Err(error) = open(&path, 1) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        assert_eq!(std::fs::read(&path).expect("bytes"), damaged);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 1);
}
