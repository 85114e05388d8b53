use super::*;
use crate::sequence::kernel::Kernel;
use proptest::prelude::*;

/// Kernels of ten picoseconds, two apart.
struct Profile {
    kernels: Vec<Kernel>,
    now_ps: i64,
    starts: Vec<usize>,
}

impl Profile {
    fn new() -> Profile {
        Profile { kernels: Vec::new(), now_ps: 0, starts: Vec::new() }
    }

    fn pass(&mut self, symbols: impl IntoIterator<Item = u32>, gap_ps: i64) {
        if !self.kernels.is_empty() {
            self.starts.push(self.kernels.len());
            self.now_ps += gap_ps;
        }
        for symbol in symbols {
            self.kernels.push(Kernel { symbol, start_ps: self.now_ps, duration_ps: 10 });
            self.now_ps += 12;
        }
    }
}

/// `head`, layers of five kernels, `tail`.
fn model(layers: usize) -> Vec<u32> {
    let mut symbols = vec![50, 51];
    (0..layers).for_each(|_| symbols.extend([1, 2, 3, 2, 4]));
    symbols.extend([1, 60, 61, 62]);
    symbols
}

#[test]
fn passes_with_gaps_and_without() {
    for gap_ps in [900_000_000, 20_000_000, 100] {
        let mut profile = Profile::new();
        (0..4).for_each(|_| profile.pass(model(12), gap_ps));
        let found = find_passes(profile.kernels.as_slice());
        assert_eq!((found.method, &found.starts), (Method::Sequence, &profile.starts), "{gap_ps}");
    }
}

#[test]
fn without_any_gap_the_boundary_stands_where_foreign_kernels_begin() {
    let mut profile = Profile::new();
    (0..4).for_each(|_| profile.pass(model(12), 0));
    profile.kernels.iter_mut().for_each(|kernel| kernel.duration_ps = 12);
    let tail = 3;
    let found = find_passes(profile.kernels.as_slice());
    assert_eq!(found.starts, profile.starts.iter().map(|start| start - tail).collect::<Vec<_>>());
}

#[test]
fn a_mixture_of_models() {
    let mut profile = Profile::new();
    for layers in [12, 7, 12, 30] {
        profile.pass(model(layers), 1000);
    }
    assert_eq!(find_passes(profile.kernels.as_slice()).starts, profile.starts);
}

#[test]
fn one_pass_is_one_pass() {
    let mut profile = Profile::new();
    profile.pass(model(20), 0);
    assert_eq!(find_passes(profile.kernels.as_slice()).starts, Vec::<usize>::new());
    assert_eq!(find_passes([].as_slice()), Passes { method: Method::OnePass, starts: Vec::new(), anchor: None });
}

#[test]
fn nothing_repeats_and_gaps_decide() {
    let mut profile = Profile::new();
    profile.pass(0..30, 0);
    profile.pass(100..140, 5000);
    let found = find_passes(profile.kernels.as_slice());
    assert_eq!((found.method, &found.starts), (Method::IdleGaps, &profile.starts));
}

#[test]
fn distances() {
    assert_eq!(most_common_distance(&[0, 2, 4, 7, 10]), Some((2, 2)), "the earliest of equal counts");
    assert_eq!(most_common_distance(&[0, 2, 5, 8]), Some((3, 2)));
    assert_eq!(most_common_distance(&[3]), None);
    assert_eq!(agreed(vec![0, 10, 20, 24, 30], vec![]), [0, 10, 20, 30], "24 splits a pass");
    assert_eq!(agreed(vec![10, 20], vec![15, 40]), [10, 20, 40]);
    assert_eq!(agreed(vec![], vec![5, 10, 15]), [5, 10, 15]);
    assert_eq!(agreed(vec![], vec![5, 10, 17, 19, 40]), Vec::<usize>::new(), "no distance is seen often");
}

proptest! {
    #[test]
    fn any_sequence_is_cut_inside(symbols in prop::collection::vec((0u32..5, 0i64..4, 0i64..30), 0..80)) {
        let mut start_ps = 0;
        let kernels: Vec<Kernel> = symbols.into_iter().map(|(symbol, gap_ps, duration_ps)| {
            start_ps += gap_ps * gap_ps * gap_ps;
            Kernel { symbol, start_ps, duration_ps }
        }).collect();
        let passes = find_passes(kernels.as_slice());
        prop_assert!(passes.starts.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(passes.starts.iter().all(|&start| 0 < start && start < kernels.len()));
        prop_assert_eq!(passes.method == Method::OnePass, passes.starts.is_empty());
    }
}
