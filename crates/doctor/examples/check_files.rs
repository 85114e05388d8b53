//! Checks the files that are named and prints what is found as JSON: a report of [`perfdb_doctor::check`] for each.

fn main() -> Result<(), perfdb_doctor::Error> {
    for file in std::env::args_os().skip(1) {
        let report = perfdb_doctor::check(file.as_ref(), &perfdb_doctor::Options::default())?;
        println!("{}", report.to_json());
    }
    Ok(())
}
