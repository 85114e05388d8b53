//! The columns of a table when it is rewritten.

use crate::columns::{
    BASE, MEASURED_DURATION, METRICS, OBSOLETE, OLD_MEASURED_DURATION, measured_metric, profiled_metric,
};

/// The columns that a rewrite gives a table, each with the position of the column whose cells it takes.
pub(super) fn rewritten(columns: &[String]) -> Vec<(String, Option<usize>)> {
    let mut new: Vec<(String, Option<usize>)> = columns
        .iter()
        .enumerate()
        .filter(|(_, name)| !OBSOLETE.contains(&name.as_str()))
        .map(|(at, name)| (name.clone(), Some(at)))
        .collect();
    let position =
        |columns: &[(String, Option<usize>)], name: &str| columns.iter().position(|(column, _)| column == name);
    if position(&new, MEASURED_DURATION).is_none()
        && let Some(old) = position(&new, OLD_MEASURED_DURATION)
    {
        new[old].0 = MEASURED_DURATION.to_owned();
    }
    if position(&new, MEASURED_DURATION).is_none() {
        let base = BASE.iter().map(|name| ((*name).to_owned(), position(&new, name).and_then(|at| new[at].1)));
        let mut ordered: Vec<_> = base.collect();
        ordered.push((MEASURED_DURATION.to_owned(), None));
        ordered.extend(new.into_iter().filter(|(name, _)| !BASE.contains(&name.as_str())));
        new = ordered;
    }
    for metric in METRICS {
        let measured = measured_metric(metric);
        if let Some(profiled) = position(&new, &profiled_metric(metric))
            && position(&new, &measured).is_none()
        {
            new.insert(profiled, (measured, None));
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(columns: &[&str]) -> Vec<(String, Option<usize>)> {
        rewritten(&columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn an_old_duration_is_renamed_in_place_unless_the_new_one_is_there() {
        let found = names(&["x", OLD_MEASURED_DURATION, "MicroBench Task Duration(us)", "y"]);
        assert_eq!(found, [("x".into(), Some(0)), (MEASURED_DURATION.into(), Some(1)), ("y".into(), Some(3))]);
        let both = names(&[MEASURED_DURATION, OLD_MEASURED_DURATION]);
        assert_eq!(both, [(MEASURED_DURATION.into(), Some(0)), (OLD_MEASURED_DURATION.into(), Some(1))]);
    }

    #[test]
    fn without_a_duration_the_base_columns_come_first() {
        let found = names(&["note", "Output Shapes", "Profiling Average aiv_time(us)"]);
        let mut expected: Vec<(String, Option<usize>)> = BASE.iter().map(|name| ((*name).to_owned(), None)).collect();
        expected[5].1 = Some(1);
        expected.extend([
            (MEASURED_DURATION.into(), None),
            ("note".into(), Some(0)),
            ("MicroBench aiv_time(us)".into(), None),
            ("Profiling Average aiv_time(us)".into(), Some(2)),
        ]);
        assert_eq!(found, expected);
    }
}
