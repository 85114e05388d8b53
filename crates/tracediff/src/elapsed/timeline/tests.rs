use super::*;
use proptest::prelude::*;

const FAMILIES: usize = 2;

fn activities() -> impl Strategy<Value = Vec<Activity>> {
    let kind = prop_oneof![
        (0..FAMILIES as u32).prop_map(ActivityKind::Compute),
        Just(ActivityKind::Communication),
        Just(ActivityKind::Copy { kind: CopyKind::HostToDevice, bytes: 7 }),
    ];
    let pass = prop_oneof![Just(OUTSIDE), 0_u32..3];
    let activity = (0_i128..40, 0_i128..8, kind, pass, launch()).prop_map(|(start, length, kind, pass, launch)| {
        let pass = KernelPass { pass, phase: None };
        Activity { start, end: start + length, device: 0, pass, kind, launch, name: 0, is_lead: false }
    });
    prop::collection::vec(activity, 1..12).prop_map(|mut activities| {
        activities.sort_by_key(|one| one.start);
        activities
    })
}

/// The number of a launch says when it ended.
fn launch() -> impl Strategy<Value = u32> {
    prop::option::of(0_u32..50).prop_map(|launch| launch.unwrap_or(NO_LAUNCH))
}

fn launch_end(launch: u32) -> Option<Picoseconds> {
    (launch != NO_LAUNCH).then(|| Picoseconds::from(launch) - 5)
}

/// What the GPU does at each picosecond, one after the other.
fn by_instant(activities: &[Activity], window: &Window) -> TimeParts {
    let mut parts = TimeParts::default();
    for instant in window.start..window.end {
        let running = |wanted: fn(&ActivityKind) -> bool| {
            activities.iter().any(|one| wanted(&one.kind) && one.start <= instant && instant < one.end)
        };
        let next = activities.iter().map(|one| one.start).filter(|start| *start > instant).min();
        let launched = activities.iter().filter(|one| Some(one.start) == next);
        let launch_end = launched.filter_map(|one| launch_end(one.launch)).min();
        let part = if running(|kind| matches!(kind, ActivityKind::Compute(_))) {
            &mut parts.compute
        } else if running(|kind| matches!(kind, ActivityKind::Communication)) {
            &mut parts.exposed_communication
        } else if running(|kind| matches!(kind, ActivityKind::Copy { .. })) {
            &mut parts.exposed_copies
        } else if launch_end.is_some_and(|end| instant < end) {
            &mut parts.host_late
        } else {
            &mut parts.device_idle
        };
        *part += 1;
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn parts_are_those_of_every_instant(activities in activities()) {
        let windows = split(activities.iter().copied(), FAMILIES, &[], launch_end, None);
        let first = activities.iter().map(|one| one.start).min().unwrap();
        let last = activities.iter().map(|one| one.end).max().unwrap();
        // Windows are the whole, one behind the other.
        prop_assert_eq!(windows[0].start, first);
        prop_assert_eq!(windows[windows.len() - 1].end, last.max(windows[windows.len() - 1].start));
        for pair in windows.windows(2) {
            prop_assert_eq!(pair[0].end, pair[1].start);
        }
        for window in &windows {
            prop_assert_eq!(window.parts, by_instant(&activities, window));
            prop_assert_eq!(window.parts.total(), window.length());
            prop_assert_eq!(window.own.iter().sum::<Picoseconds>(), window.parts.compute);
            prop_assert!(window.unknown_launch <= window.parts.device_idle);
            let exposed: Picoseconds = window.copies.iter().map(|copies| copies.exposed).sum();
            prop_assert_eq!(exposed, window.parts.exposed_copies);
        }
        let copies: u64 = windows.iter().flat_map(|window| window.copies.iter()).map(|copies| copies.count).sum();
        let expected = activities.iter().filter(|one| matches!(one.kind, ActivityKind::Copy { .. })).count();
        prop_assert_eq!(copies, expected as u64);
    }

    #[test]
    fn launches_move_idle_time_only(activities in activities(), launch in launch()) {
        let busy = |activities: Vec<Activity>| -> Vec<_> {
            let parts = split(activities.into_iter(), FAMILIES, &[], launch_end, None).into_iter().map(|window| window.parts);
            parts.map(|parts| (parts.compute, parts.exposed_communication, parts.exposed_copies, parts.total())).collect()
        };
        let moved = activities.iter().map(|one| Activity { launch, ..*one }).collect();
        prop_assert_eq!(busy(activities.clone()), busy(moved));
    }
}
