//! Profiles of ROCm's rocmProfileData.

use rustc_hash::FxHashMap;

use super::model::{Annotation, Copy, Kernel, Kind, Launch, Mark, Profile};
use super::sqlite::Database;
use crate::Error;
use crate::names::{NO_NAME, NameId};

/// What is not work of a device.
const MARKERS: [&str; 3] = ["Marker", "UserMarker", "Barrier"];

/// Whether the file has the tables of RPD, given whether it has a table.
pub(super) fn has_tables(has: impl Fn(&str) -> bool) -> bool {
    has("rocpd_op") && has("rocpd_api")
}

/// Reads a profile.
pub(super) fn read(database: &Database<'_>) -> Result<Profile, Error> {
    let mut profile = Profile::new(Kind::Rpd);
    let mut texts: FxHashMap<i64, NameId> = FxHashMap::default();
    database.each("rocpd_string", &["id", "string"], |row| {
        if let (Some(id), Some(text)) = (row.integer(0), row.text(1)) {
            texts.insert(id, profile.names.text(&text));
        }
    })?;
    let text = |id: Option<i64>| id.and_then(|id| texts.get(&id).copied()).unwrap_or(NO_NAME);
    let calls = calls(database, &mut profile, &text)?;
    let mut call_of = FxHashMap::default();
    database.each("rocpd_api_ops", &["api_id", "op_id"], |row| {
        if let (Some(api), Some(op)) = (row.integer(0), row.integer(1)) {
            call_of.entry(op).or_insert(api);
        }
    })?;
    let mut kernel_of = FxHashMap::default();
    database.each("rocpd_kernelapi", &["api_ptr_id", "kernelName_id"], |row| {
        if let Some(api) = row.integer(0) {
            kernel_of.insert(api, text(row.integer(1)));
        }
    })?;
    let columns = ["id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"];
    database.each("rocpd_op", &columns, |row| {
        let Some((start, duration)) = row.span(3, 4) else {
            profile.skipped += 1;
            return;
        };
        let kind = text(row.integer(6));
        let kind_text = profile.names.get(kind);
        if MARKERS.contains(&kind_text) {
            return;
        }
        let is_set = kind_text.starts_with("Fill") || kind_text == "Memset";
        let is_copy = is_set || kind_text.starts_with("Copy") || kind_text == "Memcpy";
        let api = row.integer(0).and_then(|op| call_of.get(&op).copied());
        let by_call = api.and_then(|api| kernel_of.get(&api).copied()).unwrap_or(NO_NAME);
        let candidates = [by_call, text(row.integer(5)), kind];
        let is_named = |name: &NameId| !profile.names.get(*name).is_empty();
        let name = candidates.into_iter().find(is_named).unwrap_or_else(|| profile.names.text("unnamed kernel"));
        let launch = api.and_then(|api| calls.get(&api).copied());
        let (device, stream) = (row.integer(1).unwrap_or(0), row.integer(2).unwrap_or(0));
        if is_copy {
            profile.copies.push(Copy { start, duration, name, is_set, device, stream, launch, bytes: 0 });
        } else {
            profile.kernels.push(Kernel { start, duration, name, device, stream, launch, mark: Mark::Nothing });
        }
    })?;
    profile.leave_out_idle_calls();
    Ok(profile)
}

/// Calls by their id in the file; what the program marked becomes an annotation.
fn calls(
    database: &Database<'_>,
    profile: &mut Profile,
    text: &impl Fn(Option<i64>) -> NameId,
) -> Result<FxHashMap<i64, u32>, Error> {
    let mut calls = FxHashMap::default();
    let columns = ["id", "pid", "tid", "start", "end", "apiName_id", "args_id"];
    database.each("rocpd_api", &columns, |row| {
        let (Some(id), Some((start, duration))) = (row.integer(0), row.span(3, 4)) else { return };
        let process = row.integer(1).unwrap_or(0);
        let name = text(row.integer(5));
        if profile.names.get(name) == "UserMarker" {
            let name = text(row.integer(6));
            if name != NO_NAME {
                profile.annotations.push(Annotation { start, duration, name, process: Some(process) });
            }
        }
        calls.insert(id, profile.launches.len() as u32);
        profile.launches.push(Launch {
            start,
            duration,
            process,
            thread: row.integer(2).unwrap_or(0),
            name,
            operator: None,
        });
    })?;
    Ok(calls)
}
