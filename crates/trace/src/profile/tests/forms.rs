//! Folders, and forms that are refused by name.

use std::path::Path;

use crate::profile::{file_in, open};

fn refusal(name: &str, content: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("writes");
    open(&path, 1).expect_err("it is refused").to_string().split_once(": ").expect("a reason").1.to_owned()
}

#[test]
fn other_forms_are_refused_with_the_command_that_makes_a_readable_file() {
    for (name, content, reason) in [
        ("a.nsys-rep", &b"\x01\x02"[..], "export it first: nsys export --type sqlite a.nsys-rep"),
        ("a.qdrep", b"\x01\x02", "export it first: nsys export --type sqlite a.qdrep"),
        ("a", b"Start (ns),Duration (ns),CorrId,Name\n1,2,3,x\n", "nsys export --type sqlite"),
        ("a.csv", b"Time (%),Total Time (ns),Instances,Avg (ns),Name\n1,2,3,4,x\n", "nsys export --type sqlite"),
        (
            "b",
            b"\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n",
            "rocprofv3 --output-format rocpd",
        ),
        ("c.xplane.pb", b"\x0a\x02", "torch.profiler"),
        ("d", b"\x0a\x04\x08\x01\x10\x02\x0a\x02\x18\x07\x0a\x02\x18\x07", "traceconv json d d.json"),
        ("op_statistic.csv", b"Device_id,OP Type,Core Type,Count,Total Time(us)\n", "kernel_details.csv"),
        ("step_trace_time.csv", b"Step,Computing,Communication(Not Overlapped),Free\n", "trace_view.json"),
        ("kernels.csv", b"Name,Type,Duration(us)\na,Add,1\n", "without the column Start Time(us)"),
    ] {
        let found = refusal(name, content);
        assert!(found.contains(reason), "{name}: {found}");
    }
}

fn put(folder: &Path, name: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    std::fs::write(path, "x").expect("writes");
}

#[test]
fn a_folder_gives_its_best_file() {
    let folder = tempfile::tempdir().expect("folder");
    let found = || file_in(folder.path()).map(|path| path.strip_prefix(folder.path()).expect("inside").to_owned());
    let error = || found().expect_err("refused").to_string();
    assert!(error().contains("a folder without a profile: looked for trace_view.json"), "{}", error());
    put(folder.path(), "h100.json.gz");
    assert_eq!(found().expect("a file"), Path::new("h100.json.gz"));
    std::fs::remove_file(folder.path().join("h100.json.gz")).expect("removes");
    put(folder.path(), "run.nsys-rep");
    assert!(error().contains("nsys export --type sqlite"), "{}", error());
    put(folder.path(), "run.sqlite");
    assert_eq!(found().expect("a file"), Path::new("run.sqlite"));
    put(folder.path(), "other.sqlite");
    assert!(error().contains("holds 2 profiles, name one: other.sqlite, run.sqlite"), "{}", error());
    put(folder.path(), "PROF_1/mindstudio_profiler_output/op_summary_20260101.csv");
    put(folder.path(), "ASCEND_PROFILER_OUTPUT/kernel_details.csv");
    assert_eq!(found().expect("a file"), Path::new("ASCEND_PROFILER_OUTPUT/kernel_details.csv"));
    put(folder.path(), "ASCEND_PROFILER_OUTPUT/trace_view.json");
    assert_eq!(found().expect("a file"), Path::new("ASCEND_PROFILER_OUTPUT/trace_view.json"));
}
