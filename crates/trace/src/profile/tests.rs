mod ascend;
mod forms;
mod rocpd;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Kernel, Launch, Mark, Profile, open};
use crate::Error;

/// Two processes whose kernels share their correlation ids.
const NSYS: &str = "
    CREATE TABLE StringIds (id INTEGER, value TEXT);
    INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'norm'), (3, 'cudaLaunchKernel'), (4, 'step 1');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
        correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, graphNodeId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1007, 0, 7, 1, 16777216, 1, 1, NULL),
        (2000, 2011, 0, 7, 1, 33554432, 2, 2, NULL), (3000, 3013, 0, 7, 2, 33554432, 1, 1, 5),
        (4000, 4017, 0, 7, 9, 33554432, NULL, NULL, NULL), (5000, 4000, 0, 7, 9, 33554432, 1, 1, NULL);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, 16777217, 1, 3), (200, 210, 33554433, 1, 3), (300, 310, 33554433, 2, 3);
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
        correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (3000, 3013, 0, 7, 2, 33554432, 8), (6000, 6019, 0, 7, 3, 33554432, 9), (0, 0, 0, 7, 4, 33554432, 9);
    CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
    INSERT INTO NVTX_EVENTS VALUES (50, 500, 59, NULL, 4, 16777217), (60, NULL, 34, 'mark', NULL, 16777217);
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 1), (1, 0, 2);";

fn written(folder: &Path, statements: &str) -> PathBuf {
    let path = folder.join("odd name?#%.data");
    Connection::open(&path).expect("opens").execute_batch(statements).expect("SQL");
    path
}

fn profile(statements: &str) -> Profile {
    let folder = tempfile::tempdir().expect("folder");
    open(&written(folder.path(), statements), 2).expect("reads").expect("a profile")
}

#[test]
fn sums_by_kernel_name_are_those_of_sql() {
    let folder = tempfile::tempdir().expect("folder");
    let path = written(folder.path(), NSYS);
    let database = Connection::open(&path).expect("opens");
    let mut query = database
        .prepare(
            "SELECT coalesce(s.value, 'unnamed kernel'), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
             LEFT JOIN StringIds s ON s.id = k.demangledName WHERE k.end >= k.start GROUP BY 1",
        )
        .expect("SQL");
    let wanted: BTreeMap<String, i128> = query
        .query_map([], |row| Ok((row.get(0)?, i128::from(row.get::<_, i64>(1)?))))
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("sums");
    let profile = open(&path, 2).expect("reads").expect("a profile");
    let mut sums = BTreeMap::new();
    for kernel in profile.kernels.iter().filter(|kernel| kernel.mark != Mark::Graph) {
        *sums.entry(profile.names.get(kernel.name).to_owned()).or_insert(0) += kernel.duration / 1000;
    }
    assert_eq!(sums, wanted);
    assert_eq!(profile.skipped, 2);
}

#[test]
fn rows_are_the_same_on_any_number_of_threads() {
    // Ranges without rows, a last one that is not full, and numbers of rows that have another name.
    let many = "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 3000)
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (rowid, start, end, deviceId, streamId, correlationId, globalPid, demangledName, shortName)
        SELECT 20000 + 7 * n + 9000 * (n > 2000), 7000 + 10 * n, 7009 + 10 * n - 20 * (n % 100 = 7), 0, n % 3, 100 + n, 16777216, 1 + n % 2, 1 FROM number;
        ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN rowid INTEGER;
        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 9000)
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 500 + n, 507 + n, 16777217, 10 + n, 1, -n FROM number;";
    let folder = tempfile::tempdir().expect("folder");
    let path = written(folder.path(), &format!("{NSYS}{many}"));
    let read = |threads| {
        let profile = open(&path, threads).expect("reads").expect("a profile");
        let rows: (Vec<Kernel>, Vec<Launch>) = (profile.kernels.iter().collect(), profile.launches.iter().collect());
        (rows, profile.idle.count, profile.skipped)
    };
    let one = read(1);
    assert_eq!((one.0.0.len(), one.0.1.len(), one.1, one.2), (5 + 3000 - 30, 3 + 3000 - 30, 6030, 32));
    for threads in [2, 3, 9] {
        assert_eq!(read(threads), one);
    }
}

#[test]
fn launches_and_devices_belong_to_their_process() {
    let profile = profile(NSYS);
    let starts: Vec<Option<i128>> = profile
        .kernels
        .iter()
        .map(|kernel| Some(profile.launches.get(kernel.launch? as usize).expect("a row").start / 1000))
        .collect();
    assert_eq!(starts, [Some(100), Some(200), Some(300), None, None]);
    let devices: Vec<i64> = profile.kernels.iter().map(|kernel| kernel.device).collect();
    assert_eq!(devices, [0, 1, 1, 1, 1]);
}

#[test]
fn a_graph_whose_kernels_are_there_counts_once() {
    let profile = profile(NSYS);
    let graphs = profile.kernels.iter().filter(|kernel| kernel.mark == Mark::Graph);
    let graphs: Vec<&str> = graphs.map(|kernel| profile.names.get(kernel.name)).collect();
    assert_eq!(graphs, ["CUDA graph 9"]);
    assert_eq!(profile.annotations.len(), 1);
    assert_eq!(profile.names.get(profile.annotations[0].name), "step 1");
}

#[test]
fn nothing_appears_beside_the_file() {
    let folder = tempfile::tempdir().expect("folder");
    open(&written(folder.path(), NSYS), 2).expect("reads");
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 1);
}

#[test]
fn kernels_of_rpd_have_the_name_of_their_call_or_description() {
    let profile = profile(
        "CREATE TABLE rocpd_string (id INTEGER, string TEXT);
         INSERT INTO rocpd_string VALUES (1, 'KernelExecution'), (2, 'gemm'), (3, 'CopyHostToDevice'), (4, 'UserMarker'),
             (5, 'execute_model'), (6, 'Task'), (7, 'in graph'), (8, 'hipLaunchKernel'), (9, '');
         CREATE TABLE rocpd_api (id INTEGER, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, apiName_id INTEGER, args_id INTEGER);
         INSERT INTO rocpd_api VALUES (1, 1, 1, 10, 20, 8, 9), (2, 1, 1, 5, 90, 4, 5);
         CREATE TABLE rocpd_op (id INTEGER, gpuId INTEGER, queueId INTEGER, start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER);
         INSERT INTO rocpd_op VALUES (1, 2, 0, 30, 40, 9, 1), (2, 2, 0, 50, 60, 9, 3), (3, 2, 0, 60, 70, 7, 6), (4, 2, 0, 60, 70, 9, 4);
         CREATE TABLE rocpd_api_ops (api_id INTEGER, op_id INTEGER);
         INSERT INTO rocpd_api_ops VALUES (1, 1);
         CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER, kernelName_id INTEGER);
         INSERT INTO rocpd_kernelapi VALUES (1, 2);",
    );
    let names: Vec<&str> = profile.kernels.iter().map(|kernel| profile.names.get(kernel.name)).collect();
    assert_eq!(names, ["gemm", "in graph"]);
    assert_eq!(profile.kernels.get(0).expect("a row").launch, Some(0));
    assert_eq!(profile.copies.len(), 1);
    assert_eq!(profile.names.get(profile.annotations[0].name), "execute_model");
}

#[test]
fn damaged_and_other_files_are_one_line_and_never_a_panic() {
    let folder = tempfile::tempdir().expect("folder");
    let path = written(folder.path(), NSYS);
    let bytes = std::fs::read(&path).expect("bytes");
    let mut state = 1_u64;
    for _ in 0..2000 {
        let mut damaged = bytes.clone();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % damaged.len();
            damaged[at] = (state >> 25) as u8;
        }
        std::fs::write(&path, &damaged).expect("writes");
        if let Err(error) = open(&path, 2) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        assert_eq!(std::fs::read(&path).expect("bytes"), damaged);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 1);
    std::fs::remove_file(&path).expect("removes");
    let alien = written(folder.path(), "CREATE TABLE other (id INTEGER)");
    assert!(matches!(open(&alien, 2), Err(Error::Profile { .. })));
}
