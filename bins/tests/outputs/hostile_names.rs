//! Names of other people's making: in outputs that no original has they neither command a terminal nor become a formula.

use super::world::{TestResult, World};
use std::fs;

/// How spreadsheets and terminals are talked to.
const NAMES: [&str; 6] =
    ["=cmd|' /C calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\u{1b}[31mred\u{7}", "line\nfeed\u{2028}and more"];

/// Command lines and the CSV that they write.
const TABLES: &[(&str, &str)] = &[
    ("compare-traces g1.json g2.json --format csv --output o.csv", "o.csv"),
    ("compare-traces g1.json g2.json --format csv --layers --output o.csv", "o.csv"),
    ("compare-traces g1.json g2.json --format csv --explain --output o.csv", "o.csv"),
    ("compare-traces g1.json g2.json --events o.csv --output o.txt", "o.csv"),
    ("compare-traces g1.json g2.json --registry classes.yaml --events o.csv --output o.txt", "o.csv"),
    ("explain-prediction --tc-trace h.json --prof-trace h.csv --data-dir hdb --csv o.csv", "o.csv"),
    ("explain-prediction --tc-trace h.json --prof-trace h.csv --families h.yaml --csv o.csv", "o.csv"),
    ("generate-op-comparison --data-dir hdb --scenarios h-scenarios.yaml --output o.json --csv o.csv", "o.csv"),
    ("query-database --database-path hdb --manifest h.jsonl --csv o.csv", "o.csv"),
    ("audit-coverage --database-path hdb --manifest h.jsonl --csv o.csv", "o.csv"),
    ("diff-databases hdb hdb2 --csv o.csv", "o.csv"),
    ("merge-databases hdb hdb2 --dry-run --conflicts o.csv", "o.csv"),
];

/// Command lines and the text that they write; no file means stdout.
const TEXTS: &[(&str, Option<&str>)] = &[
    ("compare-traces g1.json g2.json --layers --explain --show-all --output o.txt", Some("o.txt")),
    ("compare-traces g1.json g2.json --layers --show-all", None),
    ("check-trace g1.json", None),
    ("check-trace h.json", None),
    ("check-trace h.csv", None),
    ("explain-prediction --tc-trace h.json --prof-trace h.csv --data-dir hdb", None),
    ("cut-forward-pass h.csv", None),
    ("query-database --database-path hdb --manifest h.jsonl --require", None),
    ("evaluate-database --database-path hdb", None),
    ("audit-coverage --database-path hdb --manifest h.jsonl", None),
    ("check-database --database-path hdb", None),
    ("diff-databases hdb hdb2", None),
    ("merge-databases hdb hdb2 --dry-run", None),
];

/// A world in which everything that has a name has a hostile one.
fn world() -> Result<World, Box<dyn std::error::Error>> {
    let world = World::new()?;
    let quoted: Vec<String> = NAMES.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    for (file, scale) in [("g1.json", 1), ("g2.json", 2)] {
        let event = |(at, name): (usize, &String)| {
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": {name}, "pid": 0, "tid": 7, "ts": {}, "dur": {}, "args": {{"stream": 7, "correlation": {at}}}}}"#,
                10 + 10 * at,
                (9 - at) * scale,
            )
        };
        let events: Vec<String> = quoted.iter().enumerate().map(event).collect();
        fs::write(world.at(file), format!("{{\"traceEvents\": [{}]}}", events.join(",\n")))?;
    }
    let call = |(at, name): (usize, &String)| {
        let args =
            format!(r#"{{"simulation_shapes": "[[16, 5120], [5120, 768]]", "source": {name}, "kernel_type": {name}}}"#);
        format!(r#"{{"name": {name}, "ph": "X", "ts": {}, "dur": 9, "pid": 0, "tid": 0, "args": {args}}}"#, 10 * at)
    };
    let calls: Vec<String> = quoted.iter().enumerate().map(call).collect();
    let process = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#;
    fs::write(world.at("h.json"), format!("{{\"traceEvents\": [{process},\n{}]}}", calls.join(",\n")))?;
    let cell = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let mut rows = "Type,Start Time(us),Duration(us),Input Shapes\n".to_owned();
    for (at, name) in NAMES.iter().enumerate() {
        rows.push_str(&format!("{},{}\t,8,{}\n", cell(name), 10 * at, cell(name)));
    }
    fs::write(world.at("h.csv"), rows)?;
    let mapping: Vec<String> = quoted.iter().map(|name| format!("  {name}: {{kernel_type: {name}}}\n")).collect();
    fs::create_dir(world.at("hdb"))?;
    fs::write(world.at("hdb/op_mapping.yaml"), format!("operator_mappings:\n{}", mapping.concat()))?;
    let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Average Duration(us)\n";
    let rows: String = NAMES.iter().map(|name| format!("{0},{0},ND,4,FLOAT,2.0\n", cell(name))).collect();
    fs::write(world.at("hdb/Add.csv"), format!("{header}{rows}"))?;
    fs::copy(world.at("hdb/Add.csv"), world.at("hdb").join(format!("{}.csv", NAMES[1])))?;
    fs::create_dir(world.at("hdb2"))?;
    for table in ["Add", NAMES[1]] {
        let text = format!("{header}{}", rows.replace(",2.0\n", ",3.0\n"));
        fs::write(world.at("hdb2").join(format!("{table}.csv")), text)?;
    }
    let families: Vec<String> = quoted.iter().map(|name| format!("{name}: {name}\n")).collect();
    fs::write(world.at("h.yaml"), families.concat())?;
    let scenario =
        |name: &String| format!("- {{name: {name}, tc_trace: h.json, trace_csv: h.csv, n_forward_passes: 1}}\n");
    fs::write(world.at("h-scenarios.yaml"), quoted.iter().map(scenario).collect::<String>())?;
    let question = |name: &String| format!("{{\"id\": {name}, \"query\": {{\"kernel\": {name}, \"inputs\": []}}}}\n");
    fs::write(world.at("h.jsonl"), quoted.iter().map(question).collect::<String>())?;
    fs::write(world.at("classes.yaml"), CLASSES)?;
    Ok(world)
}

/// Classes with hostile names, for the kernels of the traces.
const CLASSES: &str = "\
rules:
  - {pattern: '*cmd*', op: '=HYPERLINK(1)'}
  - {pattern: '*SUM*', op: \"\\e[31m\"}
";

fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

#[test]
fn tables_that_no_original_wrote_hold_no_formula_and_no_control_character() -> TestResult {
    for (line, table) in TABLES {
        let world = world()?;
        let output = world.run(line)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {stderr}");
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(world.at(table))?;
        let mut guarded = 0;
        for record in reader.records() {
            for cell in &record? {
                assert!(!cell.chars().any(is_control), "{line}: {cell:?}");
                let is_text = cell.parse::<f64>().is_err();
                assert!(!(is_text && cell.starts_with(['=', '+', '-', '@'])), "{line}: {cell:?}");
                guarded += usize::from(cell.starts_with('\'') || cell.contains("\\u{1b}"));
            }
        }
        let names_layers = line.contains("--layers");
        assert!(guarded > 0 || names_layers, "{line}: no name is in it: {}", fs::read_to_string(world.at(table))?);
    }
    Ok(())
}

#[test]
fn findings_and_figures_are_tables_too() -> TestResult {
    let tools = [
        ("check-database hdb -o o.csv", "kind,severity,file,line,message,ignored\n"),
        ("check-density hdb -o o.csv", "gate,kind,fails,file,line,axis,bucket,"),
        ("evaluate-database hdb -o o.csv", "kernel_type,left_out,axis,asked,median_error,"),
    ];
    for (line, header) in tools {
        let world = world()?;
        let output = world.run(line)?;
        assert_ne!(output.status.code(), Some(1), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(world.at("o.csv"))?;
        assert!(text.starts_with(header), "{line}: {text}");
        let mut records = 0;
        for record in csv::Reader::from_reader(text.as_bytes()).records() {
            for cell in &record? {
                let is_formula = cell.parse::<f64>().is_err() && cell.starts_with(['=', '+', '-', '@']);
                assert!(!is_formula && !cell.chars().any(is_control), "{line}: {cell:?}");
            }
            records += 1;
        }
        assert!(records > 0 || !line.starts_with("check-database"), "{line}: {text}");
    }
    Ok(())
}

#[test]
fn texts_that_no_original_printed_command_no_terminal() -> TestResult {
    for (line, file) in TEXTS {
        let world = world()?;
        let output = world.run(line)?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{line}: {stderr}");
        let text = match file {
            Some(file) => fs::read_to_string(world.at(file))?,
            None => String::from_utf8(output.stdout)?,
        };
        for text in [&text, &stderr] {
            let found =
                text.lines().find(|line| line.chars().any(|character| is_control(character) && character != '\t'));
            assert_eq!(found, None, "{line}");
        }
        assert!(!text.is_empty(), "{line}");
    }
    Ok(())
}
