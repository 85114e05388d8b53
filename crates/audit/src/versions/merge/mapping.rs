//! The operator mapping of a target: its own one or the first there is, with what tables of others are.

use super::{COLLECTIVES, MAPPING, Pending};
use crate::versions::{Error, Place};
use perfdb_files::escape::{one_line, shown};
use perfdb_files::paths::within;
use perfdb_files::replace::{Parents, Staged};
use perfdb_store::op_mapping::with_collectives_in;
use perfdb_store::registry::{Registry, TableType, with_tables};
use std::collections::BTreeMap;
use std::path::Path;

/// A target without an operator mapping takes the first one there is; its own one stays, but for what tables are that come in with this
/// merge. Returns whether it takes one that refers to collectives.
pub(super) fn mapping(into: &Place, from: &[Place], dry_run: bool, pending: &mut Pending) -> Result<bool, Error> {
    let read = |path: &Path| match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(perfdb_files::Error::io(path, error)),
    };
    let path = within(&into.directory, MAPPING);
    if path.is_symlink() && !path.exists() {
        return Err(Error::Link { path });
    }
    let mut own = read(&path)?;
    let mut owner = into;
    let mut text = None;
    let mut taken = false;
    for place in from {
        let other = within(&place.directory, MAPPING);
        match (&own, read(&other)?) {
            (Some(own), Some(found)) if *own != found => {
                pending.notes.push(format!(
                    "{} is not {}, which stays as it is but for what new tables are; operators are not merged",
                    shown(&other),
                    shown(&path)
                ));
            }
            (None, Some(found)) => {
                pending.notes.push(format!("{} is taken over", shown(&other)));
                taken = place.collectives()?.is_some();
                text = Some(if taken {
                    with_collectives_in(&found, COLLECTIVES).ok_or(Error::Reference { path: other })?
                } else {
                    found.clone()
                });
                (own, owner) = (Some(found), place);
            }
            _ => {}
        }
    }
    let Some(own) = own else { return Ok(false) };
    let current = text.as_ref().unwrap_or(&own);
    let new = new_tables(into, from, owner, &path, &mut pending.notes)?;
    if !new.is_empty() {
        match with_tables(current, &new) {
            Some(_) if path.is_symlink() => return Err(Error::Link { path }),
            Some(with) => text = Some(with),
            None => pending.notes.push(format!(
                "{}: what these tables are can't be added to it: {}",
                shown(&path),
                one_line(&new.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
            )),
        }
    }
    if let Some(text) = text.filter(|_| !dry_run) {
        pending.staged.push(Staged::description(&path, Parents::MustExist)?.filled(&text)?);
    }
    Ok(taken)
}

/// What the tables are that the target does not have yet, as the first database says that has and describes them. Where one describes a
/// table otherwise than the target (the mapping of `owner`) does, that is a note: its rows are read as the target's are.
fn new_tables(
    into: &Place,
    from: &[Place],
    owner: &Place,
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, TableType>, Error> {
    let own = descriptions(owner)?;
    let mut new = BTreeMap::new();
    for place in from {
        let other = within(&place.directory, MAPPING);
        let described = descriptions(place)?;
        for (name, _) in place.tables().filter(|(name, _)| described.declares(name)) {
            let kind = described.table(name);
            let is_new = !own.declares(name) && !into.tables.contains_key(name);
            let known = if is_new {
                new.entry(name.to_owned()).or_insert_with(|| kind.clone()).clone()
            } else {
                own.table(name)
            };
            if known != kind {
                notes.push(format!(
                    "{} describes the table {} otherwise than {}, which stays",
                    shown(&other),
                    one_line(name),
                    shown(path)
                ));
            }
        }
    }
    Ok(new)
}

fn descriptions(place: &Place) -> Result<Registry, Error> {
    Registry::of_mapping(&place.mapping)
        .map_err(|error| Error::Description { path: within(&place.directory, MAPPING), error })
}
