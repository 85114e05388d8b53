//! Compares the types of other crates in public interfaces with the lists of packages.

use serde_json::Value;
use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: public-surface DIR, the folder with rustdoc's JSON of the packages";

/// What every crate may use.
const LIBRARY: [&str; 4] = ["alloc", "core", "proc_macro", "std"];

/// A package, and what its interface may name of other crates: whole paths, or how they begin before a `*`.
type Promise = (String, Vec<String>);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or(USAGE)?;
    let mut is_as_listed = true;
    for (package, allowed) in promises()? {
        let path = Path::new(&folder).join(format!("{}.json", package.replace('-', "_")));
        let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let found =
            foreign(&serde_json::from_slice(&text)?).ok_or_else(|| format!("{}: another format", path.display()))?;
        let fits = |pattern: &str, name: &str| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => pattern == name,
        };
        for name in found.iter().filter(|name| !allowed.iter().any(|pattern| fits(pattern, name))) {
            eprintln!("error: {package}: {name} is in the public interface, and not in allowed_external_types");
            is_as_listed = false;
        }
        for pattern in allowed.iter().filter(|pattern| !found.iter().any(|name| fits(pattern, name))) {
            eprintln!("error: {package}: {pattern} is in allowed_external_types, and not in the public interface");
            is_as_listed = false;
        }
        println!("{package}: {} types of other crates", found.len());
    }
    Ok(if is_as_listed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The packages that list the types of other crates in their interface.
fn promises() -> Result<Vec<Promise>, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let texts =
        |list: &Value| list.as_array().map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let promise = |package: &Value| {
        let allowed = &package["metadata"]["cargo_check_external_types"]["allowed_external_types"];
        Some((package["name"].as_str()?.to_owned(), texts(allowed)?))
    };
    let found: Vec<_> = metadata["packages"].as_array().ok_or("no packages")?.iter().filter_map(promise).collect();
    if found.is_empty() { Err("no package lists allowed_external_types".into()) } else { Ok(found) }
}

/// Paths of all that a crate's public items name of other crates: in signatures, fields, bounds, implementations and re-exports.
fn foreign(document: &Value) -> Option<BTreeSet<String>> {
    let paths = document["paths"].as_object()?;
    let mut found = BTreeSet::new();
    for item in document["index"].as_object()?.values().filter(|item| item["crate_id"] == 0) {
        // What everything implements is no promise of this crate.
        let implementation = &item["inner"]["impl"];
        if implementation["is_synthetic"] == true || implementation["blanket_impl"].is_object() {
            continue;
        }
        each_named(&item["inner"], &mut |id| {
            let Some(named) = paths.get(&id.to_string()) else { return };
            let path: Vec<&str> = named["path"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if named["crate_id"] != 0 && path.first().is_some_and(|name| !LIBRARY.contains(name)) {
                found.insert(path.join("::"));
            }
        });
    }
    Some(found)
}

/// The numbers of the items that a description of an item names.
fn each_named(value: &Value, take: &mut impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_named(item, take)),
        Value::Object(members) => {
            let is_name = members.contains_key("path") || members.contains_key("source");
            members.get("id").filter(|id| is_name && id.is_u64()).into_iter().for_each(&mut *take);
            members.values().for_each(|member| each_named(member, take));
        }
        _ => {}
    }
}
