//! The page of each tool: it loads without a complaint, fits a phone, and a picture of it can be kept.

use crate::browser::Browser;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

const PAIR: &str = "--tc-trace DATA/scenarios/qwen3_32b_decode/trace.json --prof-trace DATA/scenarios/qwen3_32b_decode/forward_pass.csv";

/// Name of the page, and the command line that writes it to OUT.
fn pages() -> Vec<(&'static str, String)> {
    let lines = [
        ("explain-prediction", "explain-prediction --scenarios DATA/scenarios.yaml --data-dir DATA/scenarios --html OUT".to_owned()),
        ("generate-op-comparison", format!("generate-op-comparison {PAIR} --data-dir DATA/scenarios --output o.json --html OUT")),
        ("generate-per-shape-comparison", format!("generate-per-shape-comparison {PAIR} --semantics corrected --html OUT")),
        ("compare-traces", "compare-traces DATA/gpu-traces/mi300x.json DATA/gpu-traces/h100.json --html OUT".to_owned()),
        ("check-trace", "check-trace DATA/gpu-traces/mi300x.json --html OUT".to_owned()),
        ("evaluate-database", "evaluate-database --database-path DATA/first-database/database --html OUT".to_owned()),
        (
            "diff-databases",
            "diff-databases DATA/first-database/database AFTER --workload DATA/first-database/trace.json --html OUT".to_owned(),
        ),
        (
            "audit-coverage",
            "audit-coverage --database-path DATA/first-database/database --from-trace DATA/first-database/trace.json --html OUT".to_owned(),
        ),
        (
            "start-microbench",
            "start-microbench --database-path DATA/first-database/database --prof-path DATA/first-database/PROF_000001_20260101000000_EXAMPLE --dry-run --html OUT".to_owned(),
        ),
        (
            "generate-comm-microbench",
            "generate-comm-microbench --from-results DATA/golden/generate-comm-microbench/r07-gloo-report/results --html OUT".to_owned(),
        ),
        (
            "forecast",
            "forecast --model DATA/forecast/model --database-path DATA/forecast/tables/h100_sxm/vllm/1.0.0 --tp 1,2 --batch 1,16,64 --html OUT".to_owned(),
        ),
        ("validate-comm-alignment", "validate-comm-alignment --csv-dir DATA/first-database/hccl/v8.5 --html OUT".to_owned()),
    ];
    lines.to_vec()
}

/// The example's database as if it were measured again under another version: small products take longer, large ones less.
fn measured_again(folder: &Path) -> std::io::Result<()> {
    let database = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/first-database/database");
    let after = folder.join("after");
    std::fs::create_dir_all(&after)?;
    for name in ["op_mapping.yaml", "SwiGlu.csv", "MatMulV2.csv"] {
        let text = std::fs::read_to_string(database.join(name))?;
        let text = match name {
            "op_mapping.yaml" => text.replace("cann_version: \"8.5\"", "cann_version: \"8.6\""),
            "MatMulV2.csv" => text.lines().map(slower_or_faster).collect(),
            _ => text,
        };
        std::fs::write(after.join(name), text)?;
    }
    Ok(())
}

/// A row whose last two cells, the durations, are 9 % longer where the product is small, and else 5 % shorter.
fn slower_or_faster(line: &str) -> String {
    let is_small = ["\"1,", "\"8,", "\"16,"].iter().any(|tokens| line.contains(tokens));
    let factor = if is_small { 1.09 } else { 0.95 };
    let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
    for cell in cells.iter_mut().rev().take(2) {
        if let Ok(us) = cell.parse::<f64>() {
            *cell = (us * factor).to_string();
        }
    }
    cells.join(",") + "\n"
}

/// Writes the page of a command line.
fn write(folder: &Path, name: &str, line: &str) -> Result<PathBuf, Box<dyn Error>> {
    let page = folder.join(format!("{name}.html"));
    measured_again(folder)?;
    let after = folder.join("after").display().to_string();
    let line = line.replace("DATA", "testdata").replace("OUT", &page.display().to_string()).replace("AFTER", &after);
    let mut words = line.split(' ');
    let tool = assert_cmd::cargo::cargo_bin(words.next().unwrap_or_default());
    // Paths, on the pages too, are those of the repository.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let words = words.map(|word| match word {
        "o.json" => folder.join("o.json").display().to_string(),
        word => word.to_owned(),
    });
    let output = Command::new(tool).args(words).current_dir(repository).env("SOURCE_DATE_EPOCH", "0").output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)) && page.is_file(), "{line}: {errors}");
    Ok(page)
}

#[test]
fn each_page_opens_with_a_verdict_and_is_the_same_the_next_time() -> TestResult {
    let folder = TempDir::new()?;
    for (name, line) in pages() {
        let page = std::fs::read_to_string(write(folder.path(), name, &line)?)?;
        let opening = page.split("<p class=\"verdict\">").nth(1).and_then(|rest| rest.split("</p>").next());
        assert!(
            opening.is_some_and(|verdict| verdict.ends_with('.') && !verdict.contains("NaN")),
            "{name}: {opening:?}"
        );
        assert!(page.contains(&format!("Made by {name} of perfdb ")), "{name}");
        if name == "diff-databases" {
            assert!(
                page.contains("CANN 8.5 → 8.6: 85 of 85 cases compared") && page.contains("at M ≤ 16"),
                "{opening:?}"
            );
        }
        assert_eq!(page, std::fs::read_to_string(write(folder.path(), name, &line)?)?, "{name}");
    }
    Ok(())
}

/// Writes a picture that is given in base 64.
fn keep(path: &Path, picture: &str) -> TestResult {
    let mut decoder =
        Command::new("base64").arg("--decode").stdin(Stdio::piped()).stdout(std::fs::File::create(path)?).spawn()?;
    decoder.stdin.take().ok_or("stdin")?.write_all(picture.as_bytes())?;
    decoder.wait()?;
    Ok(())
}

#[test]
fn each_page_loads_without_a_complaint_and_fits_a_phone() -> TestResult {
    let Some(mut browser) = Browser::start()? else { return Ok(()) };
    let folder = TempDir::new()?;
    let pictures = std::env::var_os("PERFDB_SCREENSHOTS").map(PathBuf::from);
    let mut all = Vec::new();
    for (name, line) in pages() {
        let page = write(folder.path(), name, &line)?;
        browser.resize(1180, 1180)?;
        browser.open(&page)?;
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
        let broken = browser.evaluate(
            "[...document.querySelectorAll('svg *')].filter((one) => /NaN|inf/.test(one.outerHTML)).length",
        )?;
        assert_eq!(broken, 0, "{name}");
        for (look, medium, scheme, width) in [
            ("light", "screen", "light", 1180),
            ("dark", "screen", "dark", 1180),
            ("phone", "screen", "light", 390),
            ("print", "print", "light", 800),
        ] {
            browser.show_on(medium, scheme)?;
            browser.resize(width, 1180)?;
            let beyond =
                browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")?;
            assert_eq!(beyond, 0, "{name} is wider than its window: {look}");
            if let Some(pictures) = &pictures {
                keep(&pictures.join(format!("{name}-{look}.webp")), &browser.picture()?)?;
            }
        }
        browser.show_on("screen", "light")?;
        all.push(page);
    }
    let bundle = folder.path().join("all.html");
    let tool = assert_cmd::cargo::cargo_bin("bundle-reports");
    assert!(Command::new(tool).args(&all).arg("--output").arg(&bundle).status()?.success());
    browser.open(&bundle)?;
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.evaluate("document.querySelectorAll('article.report').length")?, all.len());
    assert!(browser.evaluate("document.querySelectorAll('table.rows.fixed').length")?.as_u64() > Some(10));
    Ok(())
}
