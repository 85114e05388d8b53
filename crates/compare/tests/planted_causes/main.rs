//! Pairs that match but for one planted cause: the attribution has to give the planted time to that cause, and to sum exactly.

mod files;
mod model;
mod planted;

use perfdb_compare::attribution::{Cause, Contribution, Detail, Options, Passes, explain_files};
use perfdb_store::op_mapping::OpMapping;
use planted::{CAUSES, Planted, plant};

const PAIRS: u64 = 204;

/// The planted cause, as the attribution should call it.
fn belongs(planted: &Planted, contribution: &Contribution) -> bool {
    let part = |name: &str| match &contribution.detail {
        Detail::Pool(pool) => pool.parts.iter().any(|part| part.kernel_type == name),
        _ => false,
    };
    let of_type = contribution.kernel_type == planted.kernel_type;
    match planted.cause {
        "dropped_layer" | "added_layer" => matches!(contribution.cause, Cause::Layers | Cause::Count),
        "row_scaled" => contribution.cause == Cause::Time && of_type,
        "mapped_without_row" => contribution.cause == Cause::Time && of_type || contribution.cause == Cause::Mapping,
        "mapping_removed" => {
            matches!(contribution.cause, Cause::Mapping | Cause::Analytic) && part(&planted.kernel_type)
        }
        "shape_changed" => contribution.cause == Cause::Shape && of_type,
        "renamed" | "split" | "fused" => {
            contribution.cause == Cause::OtherKernel && planted.other_types.iter().any(|name| part(name))
        }
        "collective_waits" | "collective_scaled" => {
            matches!(contribution.cause, Cause::CollectiveWait | Cause::Time) && of_type
        }
        "not_modelled" => contribution.cause == Cause::NotModelled && of_type,
        "predicted_only" => contribution.cause == Cause::PredictedOnly && of_type,
        "calls" => matches!(contribution.cause, Cause::Count | Cause::Layers) && of_type,
        _ => false,
    }
}

#[test]
fn the_planted_time_goes_to_the_planted_cause() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, profile) = (folder.path().join("trace.json"), folder.path().join("pass.csv"));
    let mut wrong = Vec::new();
    for seed in 0..PAIRS {
        let planted = plant(CAUSES[seed as usize % CAUSES.len()], seed);
        std::fs::write(&trace, &planted.trace).unwrap();
        std::fs::write(&profile, &planted.profile).unwrap();
        let mapping = planted.mapping.as_deref().map(|text| OpMapping::parse(text).unwrap());
        let passes = Passes::parse(&planted.passes.to_string()).unwrap();
        let options = Options { mapping: mapping.as_ref(), passes, ..Options::default() };
        let attribution = explain_files(&trace, &profile, &options).unwrap().result.attribution;
        let name = format!("{} {seed}", planted.cause);

        let sum = |contributions: &mut dyn Iterator<Item = &Contribution>| -> i128 {
            contributions.map(|contribution| contribution.difference_ps).sum()
        };
        assert_eq!(sum(&mut attribution.contributions.iter()), attribution.difference_ps, "{name}");
        assert_eq!(attribution.difference_ps, attribution.predicted_ps - attribution.measured_ps, "{name}");
        assert_eq!(attribution.predicted_ps, planted.predicted_ps, "{name}: every predicted call counts once");
        if planted.passes == 1 {
            assert_eq!(attribution.measured_ps, planted.measured_ps, "{name}: every measured call counts once");
            assert_eq!(attribution.difference_ps, planted.planted_ps, "{name}: the generator plants what it says");
        }
        let groups: (i128, i128) = attribution
            .groups
            .iter()
            .fold((0, 0), |(one, other), group| (one + group.predicted_ps, other + group.measured_ps));
        assert_eq!(groups, (attribution.predicted_ps, attribution.measured_ps), "{name}");

        let found_ps =
            sum(&mut attribution.contributions.iter().filter(|contribution| belongs(&planted, contribution)));
        let held = match planted.planted_ps {
            0 if planted.passes == 1 => attribution.contributions.is_empty(),
            // Each group's mean over the passes is rounded.
            0 => attribution.gross_ps <= 2 * attribution.groups.len() as i128,
            planted_ps => (found_ps - planted_ps).abs() * 100 <= planted_ps.abs(),
        };
        if !held {
            let largest: Vec<_> = attribution
                .contributions
                .iter()
                .take(4)
                .map(|contribution| {
                    (contribution.cause, &contribution.kernel_type, &contribution.shape, contribution.difference_ps)
                })
                .collect();
            wrong.push(format!("{name}: planted {}, found {found_ps}: {largest:?}", planted.planted_ps));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
