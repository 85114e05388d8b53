//! Databases of rocprofv3, in both layouts.

use super::profile;
use crate::profile::{Kind, Profile};

const SHARED: &str = "
    CREATE TABLE rocpd_string_u (id INTEGER, guid TEXT, string TEXT);
    INSERT INTO rocpd_string_u VALUES (1, 'g', 'hipLaunchKernel'), (2, 'g', 'roctxRangePush'), (3, 'g', 'MEMORY_COPY_HOST_TO_DEVICE'),
        (4, 'g', 'HIP_RUNTIME_API_EXT'), (5, 'g', 'MARKER_CORE_API'), (6, 'g', 'KERNEL_DISPATCH');
    CREATE TABLE rocpd_info_agent_u (id INTEGER, guid TEXT, type TEXT, absolute_index INTEGER, product_name TEXT, model_name TEXT, name TEXT);
    INSERT INTO rocpd_info_agent_u VALUES (1, 'g', 'CPU', 0, 'EPYC', NULL, NULL), (2, 'g', 'GPU', 4, '', NULL, 'gfx942');
    CREATE TABLE rocpd_info_kernel_symbol_u (id INTEGER, guid TEXT, kernel_name TEXT, display_name TEXT);
    INSERT INTO rocpd_info_kernel_symbol_u VALUES (9, 'g', '_Z4gemmv', 'gemm()');
    CREATE TABLE rocpd_event_u (id INTEGER, guid TEXT, category_id INTEGER, stack_id INTEGER, correlation_id INTEGER, extdata TEXT);
    INSERT INTO rocpd_event_u VALUES (1, 'g', 4, 77, 0, '{}'), (2, 'g', 5, 0, 0, '{\"message\": \"execute_model\"}'), (3, 'g', 6, 77, 0, '{}'),
        (4, 'g', 6, 0, 0, '{}');";

const OLDER: &str = "
    CREATE TABLE rocpd_region_u (id INTEGER, guid TEXT, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, name_id INTEGER, event_id INTEGER);
    INSERT INTO rocpd_region_u VALUES (1, 'g', 5, 6, 100, 110, 1, 1), (2, 'g', 5, 6, 90, 300, 2, 2);
    CREATE TABLE rocpd_kernel_dispatch_u (id INTEGER, guid TEXT, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER,
        queue_id INTEGER, stream_id INTEGER, start INTEGER, end INTEGER, event_id INTEGER);
    INSERT INTO rocpd_kernel_dispatch_u VALUES (1, 'g', 5, 6, 2, 9, 1, 3, 120, 150, 3), (2, 'g', 5, 6, 2, 8, 1, 3, 160, 155, 3);
    CREATE TABLE rocpd_memory_copy_u (id INTEGER, guid TEXT, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, name_id INTEGER,
        dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, stream_id INTEGER, event_id INTEGER);
    INSERT INTO rocpd_memory_copy_u VALUES (1, 'g', 5, 6, 200, 220, 3, 2, 1, 4096, 3, 4);";

const NEWER: &str = "
    CREATE TABLE rocpd_timestamp_u (id INTEGER, guid TEXT, value INTEGER);
    INSERT INTO rocpd_timestamp_u VALUES (1, 'g', 100), (2, 'g', 110), (3, 'g', 90), (4, 'g', 300), (5, 'g', 120), (6, 'g', 150),
        (7, 'g', 160), (8, 'g', 155), (9, 'g', 200), (10, 'g', 220);
    CREATE TABLE rocpd_track_u (id INTEGER, guid TEXT, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER);
    INSERT INTO rocpd_track_u VALUES (1, 'g', 5, 6, NULL, NULL, NULL), (2, 'g', 5, 6, 2, 1, 3), (3, 'g', 5, 6, NULL, NULL, 3);
    CREATE TABLE rocpd_region_u (id INTEGER, guid TEXT, track_id INTEGER, name_id INTEGER, start_id INTEGER, end_id INTEGER, event_id INTEGER);
    INSERT INTO rocpd_region_u VALUES (1, 'g', 1, 1, 1, 2, 1), (2, 'g', 1, 2, 3, 4, 2);
    CREATE TABLE rocpd_kernel_dispatch_u (id INTEGER, guid TEXT, track_id INTEGER, kernel_id INTEGER, start_id INTEGER, end_id INTEGER, event_id INTEGER);
    INSERT INTO rocpd_kernel_dispatch_u VALUES (1, 'g', 2, 9, 5, 6, 3), (2, 'g', 2, 8, 7, 8, 3);
    CREATE TABLE rocpd_memory_copy_u (id INTEGER, guid TEXT, track_id INTEGER, start_id INTEGER, end_id INTEGER, name_id INTEGER,
        dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, event_id INTEGER);
    INSERT INTO rocpd_memory_copy_u VALUES (1, 'g', 3, 9, 10, 3, 2, 1, 4096, 4);";

fn check(profile: &Profile) {
    assert_eq!(profile.kind, Kind::Rocpd);
    assert_eq!((profile.kernels.len(), profile.copies.len(), profile.skipped), (1, 1, 1));
    let kernel = profile.kernels.get(0).expect("a row");
    assert_eq!(profile.names.get(kernel.name), "gemm()");
    assert_eq!((kernel.start, kernel.duration, kernel.device, kernel.stream), (120_000, 30_000, 4, 3));
    assert_eq!(profile.launches.get(kernel.launch.expect("a launch") as usize).expect("a row").start, 100_000);
    let copy = &profile.copies[0];
    assert_eq!((copy.device, copy.bytes, copy.launch), (4, 4096, None));
    assert_eq!(profile.names.get(profile.annotations[0].name), "execute_model");
    assert_eq!(profile.devices[0].name, "gfx942");
}

#[test]
fn both_layouts_mean_the_same() {
    check(&profile(&format!("{SHARED}{OLDER}")));
    check(&profile(&format!("{SHARED}{NEWER}")));
}
