//! Looking at a whole directory.

use super::finding::{Finding, Kind};
use super::mapping::{Tables, compare, without_class};
use super::table::{Refusal, Seen, look_at};
use crate::directory::tables_in;
use crate::error::Error;
use crate::op_mapping::{self, OpMapping};
use crate::registry::{Registry, is_collective};
use perfdb_files::escape::{excerpt, shown};
use perfdb_files::parallel::on_all_cores;
use perfdb_files::paths::{normalised, within};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// What was looked at and found.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Number of tables.
    pub tables: usize,
    /// Number of rows in all tables that can be read.
    pub rows: usize,
    /// The findings, by file, then line.
    pub findings: Vec<Finding>,
}

/// Reads every table of a directory and its operator mapping. Takes no lock and writes nothing.
pub fn check(database: &Path) -> Result<Checked, Error> {
    check_with(database, &|_, _, _| None)
}

/// [`check`], where `refusal` gives the reason why a replay would refuse a row of an operator.
pub fn check_with(database: &Path, refusal: &Refusal<'_>) -> Result<Checked, Error> {
    let mut paths = tables_in(database)?;
    let mapping_path = within(database, "op_mapping.yaml");
    let (mapping, mut findings) = match OpMapping::load(&mapping_path) {
        Ok(Some(mapping)) => (mapping, Vec::new()),
        Ok(None) if paths.is_empty() => (OpMapping::default(), Vec::new()),
        Ok(None) => (OpMapping::default(), vec![missing_mapping(&mapping_path)]),
        Err(error) => {
            (OpMapping::default(), vec![unusable_mapping(&mapping_path, &error.to_string(), is_pointer(&error))])
        }
    };
    let registry = match Registry::of_mapping(&mapping) {
        Ok(registry) => registry,
        Err(error) => {
            findings.push(unusable_mapping(&mapping_path, &error.to_string(), false));
            Registry::default()
        }
    };
    let mut without_collectives = None;
    if let Some(reference) = &mapping.communication_data_ref {
        let folder = normalised(&database.join(reference));
        // A reference to the database itself names no further tables.
        if !folder.is_dir() {
            without_collectives = Some(missing_collectives(&mapping_path, reference, &folder));
        }
        let is_elsewhere = || std::fs::canonicalize(&folder).ok() != std::fs::canonicalize(database).ok();
        if folder.is_dir() && is_elsewhere() {
            let is_communication =
                |path: &PathBuf| path.file_name().is_some_and(|name| is_collective(&name.to_string_lossy()));
            let mut communication: Vec<PathBuf> = tables_in(&folder)?.into_iter().filter(is_communication).collect();
            communication.append(&mut paths);
            paths = communication;
        }
    }
    let _span = tracing::info_span!("look at tables", tables = paths.len()).entered();
    let seen: Vec<Seen> =
        on_all_cores(|| paths.par_iter().map(|path| look_at(path, &registry, refusal)).collect::<Result<_, _>>())?;
    let mut tables = Tables::new();
    for (path, seen) in paths.iter().zip(&seen) {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        tables.entry(stem).or_insert((path, seen));
    }
    let mapping_is_usable = findings.is_empty();
    let mapping_is_missing = findings.iter().any(|finding| finding.kind == Kind::MappingWithoutTable);
    if mapping_is_usable {
        findings.extend(compare(&mapping_path, &mapping, &registry, &tables));
    } else if mapping_is_missing {
        findings.extend(without_class(&registry, &tables));
    }
    findings.extend(without_collectives);
    findings.extend(seen.iter().flat_map(|seen| seen.findings.clone()));
    let mut checked = Checked { tables: paths.len(), rows: seen.iter().map(|seen| seen.rows).sum(), findings };
    checked.sort();
    Ok(checked)
}

impl Checked {
    /// Puts the findings in order: by file, then line.
    pub fn sort(&mut self) {
        self.findings.sort_by(|a, b| (&a.file, a.line, a.kind, &a.message).cmp(&(&b.file, b.line, b.kind, &b.message)));
    }
}

/// Without a mapping no operator is looked up, which is one finding and not one for each table.
fn missing_mapping(path: &Path) -> Finding {
    let message =
        "the operator mapping is missing, so kernels can be looked up and operators cannot; copy it from the database of another version"
            .to_owned();
    Finding { kind: Kind::MappingWithoutTable, file: path.to_owned(), line: None, message }
}

/// A database that was copied without the folder of its collectives.
fn missing_collectives(path: &Path, reference: &str, folder: &Path) -> Finding {
    let message = format!(
        "communication_data_ref: {} does not exist ({}), so no collective has a duration; copy it along with the database",
        excerpt(reference),
        shown(folder)
    );
    Finding { kind: Kind::Unreadable, file: path.to_owned(), line: None, message }
}

fn is_pointer(error: &op_mapping::Error) -> bool {
    matches!(error, op_mapping::Error::Read(perfdb_trace::Error::LfsPointer { .. }))
}

fn unusable_mapping(path: &Path, text: &str, is_pointer: bool) -> Finding {
    let message = text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(text).to_owned();
    Finding {
        kind: if is_pointer { Kind::LfsPointer } else { Kind::Unreadable },
        file: path.to_owned(),
        line: None,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    const HEADER: &str = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Average Duration(us),Profiling Average Duration(us)\n";

    fn found(files: &[(&str, &str)]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(perfdb_files::paths::parent_of(&path))?;
            fs::write(path, text)?;
        }
        let checked = check(&folder.path().join("db"))?;
        let place = |finding: &Finding| {
            let file = finding.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            format!("{file}:{} {}", finding.line.unwrap_or(0), finding.kind.name())
        };
        Ok(checked.findings.iter().map(place).collect())
    }

    #[test]
    fn rows_and_cells_are_judged() -> TestResult {
        let rows = "\"4;4\",INT8;INT8,ND;ND,4,INT8,1,1\n\
                    4;4,INT8;INT8,ND;ND,4,INT8,6,1\n\
                    x;4,INT8;INT8,ND;ND,4,INT8,0,\n\
                    5,INT8;INT8,ND,5,INT8,nan,2\n\
                    6,INT8,ND,6,INT8,-1,text\n";
        let table = format!("{HEADER}{rows}");
        let mapping = "operator_mappings: {a: {kernel_type: Add}}";
        let expected = [
            "Add.csv:0 no-duration",
            "Add.csv:3 duplicate-signature",
            "Add.csv:3 outlier-duration",
            "Add.csv:4 shape",
            "Add.csv:5 shape",
            "Add.csv:5 bad-duration",
            "Add.csv:6 bad-duration",
            "Add.csv:6 bad-duration",
        ];
        assert_eq!(found(&[("db/Add.csv", &table), ("db/op_mapping.yaml", mapping)])?, expected);
        Ok(())
    }

    #[test]
    fn rows_of_a_type_that_no_query_has_are_named() -> TestResult {
        let rows = ["DT_FOO;INT8", "INT8;", "DT_FLOAT;INT8", "INT8;DT_UNDEFINED"];
        let row = |(at, types): (usize, &&str)| format!("\"{at},4;4\",{types},ND;ND,4,INT8,1,1\n");
        let table = format!(
            "{HEADER}{}\"9,4;\",INT8;DT_UNDEFINED,ND;ND,4,INT8,1,1\n",
            rows.iter().enumerate().map(row).collect::<String>()
        );
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("Add.csv"), table)?;
        let findings = check(folder.path())?.findings.into_iter().filter(|finding| finding.kind == Kind::PassedOver);
        let found: Vec<_> = findings.map(|finding| (finding.line, finding.message)).collect();
        let expected = [
            (Some(2), "DT_FOO of input 1 is not a data type"),
            (Some(3), "input 2 has none"),
            (Some(5), "DT_UNDEFINED of input 2 is not a data type"),
        ];
        let message = |what: &str| format!("Input Data Types: {what}; queries pass over this row");
        assert_eq!(found, expected.map(|(line, what)| (line, message(what))));
        Ok(())
    }

    #[test]
    fn of_many_equal_findings_the_first_are_kept_and_the_others_counted() -> TestResult {
        let rows = "4,INT8,ND,4,INT8,-1,\n".repeat(100_002);
        let found = found(&[("db/Add.csv", &format!("{HEADER}{rows}"))])?;
        let count = |kind: &str| found.iter().filter(|finding| finding.ends_with(kind)).count();
        assert_eq!([count("bad-duration"), count("duplicate-signature")], [100_001, 100_001]);
        assert!(found.contains(&"Add.csv:0 bad-duration".to_owned()), "how many more there are");
        Ok(())
    }

    #[test]
    fn rows_of_attention_with_other_lengths_are_not_called_the_same_case() -> TestResult {
        let header = HEADER.replace('\n', ",Runtime source_profile,Runtime avg_seq_len\n");
        let row = |source: &str, length: u32| format!("4,INT8,ND,4,INT8,1,1,{source},{length}\n");
        let rows = [row("a", 16), row("a", 17), row("b", 17), row("b", 16)].concat();
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("FusedInferAttentionScore.csv"), format!("{header}{rows}"))?;
        let mut said = Vec::new();
        for finding in check(folder.path())?.findings {
            if let (Kind::DuplicateSignature, Some(line)) = (finding.kind, finding.line) {
                let message: String =
                    finding.message.chars().take_while(|&letter| letter != ',' && letter != ':').collect();
                said.push((line, message));
            }
        }
        let expected = [
            (
                3,
                "start-microbench takes this row for that of line 2 and updates only the first of these rows; lookups keep them apart",
            ),
            (4, "lookups take this row for that of line 3"),
            (5, "lookups take this row for that of line 2"),
        ];
        assert_eq!(said, expected.map(|(line, message)| (line, message.to_owned())));
        Ok(())
    }

    #[test]
    fn files_and_columns_are_judged() -> TestResult {
        let files = [
            ("db/Bad.csv", "a,b\n1,2,3\n"),
            ("db/Lfs.csv", "version https://git-lfs.github.com/spec/v1\n"),
            ("db/Old.csv", "Input Shapes,MicroBench Duration(us),Average aiv_time(us)\n"),
            ("db/hcom_x_.csv", "Input Shapes,Duration(us)\n"),
            ("db/reports/gap.csv", "no table"),
            (
                "db/op_mapping.yaml",
                "operator_mappings: {o: {kernel_type: Bad, alternate_kernel_types: [Lfs, Old, hcom_x_]}}",
            ),
        ];
        let expected = [
            "Bad.csv:2 unreadable",
            "Lfs.csv:0 lfs-pointer",
            "Old.csv:1 schema",
            "Old.csv:1 schema",
            "Old.csv:1 schema",
            "hcom_x_.csv:1 schema",
        ];
        let found: Vec<String> =
            found(&files)?.into_iter().filter(|finding| !finding.ends_with("never-reached")).collect();
        assert_eq!(found, expected);
        Ok(())
    }

    #[test]
    fn communication_tables_in_the_database_itself_are_read_once() -> TestResult {
        for reference in [".", "../db"] {
            let mapping = format!(
                "communication_data_ref: {reference}\noperator_mappings: {{a: {{kernel_type: hcom_x_, category: communication}}}}"
            );
            let files = [("db/hcom_x_.csv", "Duration(us)\nx\n"), ("db/op_mapping.yaml", mapping.as_str())];
            let expected = ["hcom_x_.csv:0 no-duration", "hcom_x_.csv:1 schema", "hcom_x_.csv:2 bad-duration"];
            assert_eq!(found(&files)?, expected, "{reference}");
        }
        Ok(())
    }

    #[test]
    fn collectives_that_were_left_behind_are_an_error() -> TestResult {
        let table = format!("{HEADER}4,INT8,ND,4,INT8,1,\n");
        let mapping = "communication_data_ref: ../../hccl\noperator_mappings: {a: {kernel_type: Add}}";
        let files = [("db/Add.csv", table.as_str()), ("db/op_mapping.yaml", mapping)];
        assert_eq!(found(&files)?, ["op_mapping.yaml:0 unreadable"]);
        Ok(())
    }

    #[test]
    fn the_mapping_and_the_tables_are_compared() -> TestResult {
        let row = |shape: &str| format!("{shape},INT8,ND,{shape},INT8,1,\n");
        let first = format!("{HEADER}{}{}", row("4"), row("5"));
        let covered = format!("{HEADER}{}", row("\"5\""));
        let adds = format!("{HEADER}{}", row("6"));
        let mapping = "communication_data_ref: ../comm\noperator_mappings:\n  a: {kernel_type: First, alternate_kernel_types: [Covered, Adds]}\n  \
                       b: {kernel_type: Nowhere}\n  c: {kernel_type: Nowhere, zero_cost: true}\n  d: {kernel_type: hcom_y_, category: communication}\n";
        let communication =
            "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\n1,2,DT_BF16,0,1.0,2.0\n";
        let files = [
            ("db/First.csv", first.as_str()),
            ("db/Covered.csv", &covered),
            ("db/Adds.csv", &adds),
            ("db/Unknown.csv", &adds),
            ("comm/hcom_y_.csv", communication),
            ("comm/other.csv", "x\n"),
            ("db/op_mapping.yaml", mapping),
        ];
        let expected = [
            "Covered.csv:0 table-without-class",
            "Covered.csv:0 alternate-never-reached",
            "First.csv:0 table-without-class",
            "Unknown.csv:0 table-without-mapping",
            "Unknown.csv:0 table-without-class",
            "op_mapping.yaml:4 mapping-without-table",
        ];
        assert_eq!(found(&files)?, expected);
        Ok(())
    }

    #[test]
    fn a_missing_mapping_is_one_finding_and_documentation_is_none() -> TestResult {
        let row = format!("{HEADER}4,INT8,ND,4,INT8,1,\n");
        let tables = [("db/A.csv", row.as_str()), ("db/B.csv", &row)];
        let expected =
            ["A.csv:0 table-without-class", "B.csv:0 table-without-class", "op_mapping.yaml:0 mapping-without-table"];
        assert_eq!(found(&tables)?, expected);
        assert_eq!(found(&[("db/Add.csv", &row)])?, ["op_mapping.yaml:0 mapping-without-table"]);
        let mapping = "operator_mappings:\n  profiling.Sort: {kernel_type: Sort}\n  a: {kernel_type: A, alternate_kernel_types: [B]}\n\
                       kernel_tables: {A: {class: generic}, B: {class: copy}}\n";
        let found = found(&[tables[0], tables[1], ("db/op_mapping.yaml", mapping)])?;
        assert_eq!(found, ["B.csv:0 alternate-never-reached"]);
        Ok(())
    }

    #[test]
    fn rows_that_a_replay_refuses_are_named() -> TestResult {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("A.csv"), format!("{HEADER}4,INT8,ND,4,INT8,1,\n5,INT8,ND,5,INT8,1,\n"))?;
        fs::write(
            folder.path().join("op_mapping.yaml"),
            "operator_mappings: {a: {kernel_type: A}}\nkernel_tables: {A: {class: copy}}",
        )?;
        let refusal = |operator: &str, columns: &[String], cells: &[&str]| {
            (cells[0] == "5").then(|| format!("{operator} of {} columns", columns.len()))
        };
        let findings = check_with(folder.path(), &refusal)?.findings;
        let found: Vec<_> =
            findings.iter().map(|finding| (finding.kind, finding.line, finding.message.as_str())).collect();
        assert_eq!(found, [(Kind::NotReplayable, Some(3), "op-replay refuses this row: A of 7 columns")]);
        Ok(())
    }
}
