//! Whether a run may start: custom operators, accelerators, and the home of times.

use std::path::PathBuf;

use perfdb_store::directory::Home;
use perfdb_store::duration::DurationColumns;
use perfdb_store::kernel::{DISPATCH_FFN_COMBINE, REPLAYABLE};
use perfdb_store::registry::OF_CUSTOM_PACKAGE;
use perfdb_store::table::{ReadOptions, Table};

use crate::backend::Backend;
use crate::microbench::error::Error;

/// DispatchFFNCombine cannot run on the accelerators that are visible, and only missing durations are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooFewAccelerators {
    /// Ranks that are needed on this node.
    pub(crate) needed: i64,
    /// Accelerators that are visible.
    pub(crate) visible: usize,
}

/// Whether DispatchFFNCombine has to be left out of a run that fills missing durations.
pub(crate) fn too_few_accelerators(
    ep_size: i64,
    per_node: Option<i64>,
    visible: usize,
    selected: Option<&[String]>,
) -> Option<TooFewAccelerators> {
    let needed = per_node.filter(|&count| count != 0).unwrap_or(ep_size);
    let is_alone = selected.is_none_or(|names| names.iter().all(|name| name == DISPATCH_FFN_COMBINE));
    let applies = ep_size > 1 && visible > 0 && (visible as i64) < needed && is_alone;
    applies.then_some(TooFewAccelerators { needed, visible })
}

/// The operators of a run without DispatchFFNCombine, by name.
pub(crate) fn all_but_dispatch() -> Vec<String> {
    REPLAYABLE.iter().filter(|name| **name != DISPATCH_FFN_COMBINE).map(|name| (*name).to_owned()).collect()
}

/// Number of rows without a valid duration in these tables.
pub(crate) fn rows_without_duration(tables: &[PathBuf]) -> Result<usize, Error> {
    let mut missing = 0;
    for path in tables {
        let table = Table::read(path, &ReadOptions::database())?;
        let columns = DurationColumns::of(&table);
        missing += table.rows().filter(|row| !columns.any_valid(*row)).count();
    }
    Ok(missing)
}

/// Operators of the custom package need `ASCEND_CUSTOM_OPP_PATH` and `LD_LIBRARY_PATH`; `has` is whether a variable has content.
pub(crate) fn check_custom_operators(operators: Option<&[String]>, has: impl Fn(&str) -> bool) -> Result<(), Error> {
    let runs = |name: &&str| operators.is_none_or(|operators| operators.iter().any(|chosen| chosen == *name));
    let custom: Vec<&str> = OF_CUSTOM_PACKAGE.into_iter().filter(|name| runs(name)).collect();
    if custom.is_empty() || ["ASCEND_CUSTOM_OPP_PATH", "LD_LIBRARY_PATH"].into_iter().all(has) {
        return Ok(());
    }
    Err(Error::CustomOperators(custom.join(", ")))
}

/// Times of a backend must belong to the directory that they are written to.
pub(crate) fn check_home(backend: Backend, home: Home) -> Result<(), Error> {
    let origin = match backend {
        Backend::Npu if home == Home::Host => "an accelerator",
        Backend::Npu => return Ok(()),
        other if home.takes(other.task_type()) => return Ok(()),
        other => other.task_type(),
    };
    Err(Error::ForeignTimes { backend, origin, home })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispatch_is_left_out_only_where_it_is_all_there_is_to_lose() {
        let selected = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let check = |ep, per_node, visible, names: Option<Vec<String>>| {
            too_few_accelerators(ep, per_node, visible, names.as_deref()).map(|few| few.needed)
        };
        assert_eq!(check(16, None, 2, None), Some(16));
        assert_eq!(check(16, Some(8), 2, selected(&["DispatchFFNCombine"])), Some(8));
        assert_eq!(check(16, Some(0), 2, None), Some(16));
        assert_eq!(check(16, None, 2, selected(&["DispatchFFNCombine", "Add"])), None);
        assert_eq!(check(16, None, 16, None), None);
        assert_eq!(check(16, None, 0, None), None);
        assert_eq!(check(1, None, 1, None), None);
        assert_eq!(all_but_dispatch().len(), 35);
    }

    #[test]
    fn only_custom_operators_need_their_package() {
        let add = ["Add".to_owned()];
        assert!(check_custom_operators(Some(&add), |_| false).is_ok());
        assert!(check_custom_operators(None, |_| true).is_ok());
        let error = check_custom_operators(None, |name| name == "LD_LIBRARY_PATH").expect_err("one is missing");
        assert!(error.to_string().starts_with("AddRmsNormBias, DispatchFFNCombine, KvRmsNormRopeCache, "));
    }

    #[test]
    fn times_have_a_home() {
        assert!(check_home(Backend::Native, Home::Host).is_ok());
        assert!(check_home(Backend::Npu, Home::Accelerator).is_ok());
        let error = check_home(Backend::TorchCuda, Home::Accelerator).expect_err("foreign").to_string();
        assert!(error.contains("CUDA"), "{error}");
        assert!(check_home(Backend::TorchCuda, Home::Host).is_err());
        assert!(check_home(Backend::Npu, Home::Host).is_err());
    }
}
