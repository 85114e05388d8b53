//! The page of each tool: it loads without a complaint, fits a phone, and a picture of it can be kept.

use super::browser::Browser;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
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
        ("compare-traces-ranks", "compare-traces --ranks DATA/ranks --html OUT".to_owned()),
        ("compare-traces-two-runs", "compare-traces --ranks1 DATA/ranks --ranks2 DATA/ranks --html OUT".to_owned()),
        ("compare-traces-runs", "compare-traces --before DATA/runs/main --after DATA/runs/change --html OUT".to_owned()),
        (
            "query-database",
            "query-database DATA/first-database/database --from-trace DATA/first-database/trace.json --html OUT".to_owned(),
        ),
        ("check-trace", "check-trace DATA/gpu-traces/mi300x.json --html OUT".to_owned()),
        ("explain-trace", "explain-trace DATA/gpu-traces/h100.json -o OUT".to_owned()),
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
    let after = shared().join("after").display().to_string();
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

/// Where the pages are that are written once, and the database that was measured again.
fn shared() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages")
}

/// The page of a name: all are written when the first one is asked for.
fn page(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    static WRITTEN: OnceLock<Result<(), String>> = OnceLock::new();
    let write_all = || -> TestResult {
        measured_again(&shared())?;
        for (name, line) in pages() {
            write(&shared(), name, &line)?;
        }
        Ok(())
    };
    WRITTEN.get_or_init(|| write_all().map_err(|error| error.to_string())).as_ref().map_err(String::as_str)?;
    Ok(shared().join(format!("{name}.html")))
}

#[test]
fn each_page_opens_with_a_verdict_and_is_the_same_the_next_time() -> TestResult {
    let folder = TempDir::new()?;
    for (name, line) in pages() {
        let page = std::fs::read_to_string(page(name)?)?;
        let opening = page.split("<p class=\"verdict\">").nth(1).and_then(|rest| rest.split("</p>").next());
        assert!(
            opening.is_some_and(|verdict| verdict.ends_with('.') && !verdict.contains("NaN")),
            "{name}: {opening:?}"
        );
        let tool = line.split(' ').next().unwrap_or_default();
        assert!(page.contains(&format!("Made by {tool} of perfdb ")), "{name}");
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
    for (name, _) in pages() {
        let page = page(name)?;
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

/// Numbers, sentences and tables that do not fit where they stand.
const CUT: &str = r"(() => {
    const cells = [...document.querySelectorAll('td.number, th.number, td.whole, .figures dd')];
    const cut = cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => 'cut: ' + cell.textContent);
    const boxes = [...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1);
    const advice = [...document.querySelectorAll('section.table')].filter((table) => /^What to do/.test(table.querySelector('h3').textContent));
    const hidden = advice.flatMap((table) => [...table.querySelectorAll('td.cut')]).map((cell) => 'until clicked: ' + cell.textContent);
    return [...cut, ...boxes.map((box) => 'wider: ' + box.getAttribute('aria-label')), ...hidden];
})()";

/// Numbers on more than one line, and charts that are taller than a sheet of paper.
const BROKEN_ON_PAPER: &str = r"(() => {
    const lines = (cell) => { const range = document.createRange(); range.selectNodeContents(cell); return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size; };
    const cells = [...document.querySelectorAll('td.number')].filter((cell) => lines(cell) > 1).map((cell) => 'broken: ' + cell.textContent);
    const charts = [...document.querySelectorAll('.chart svg')].filter((one) => one.getBoundingClientRect().height > 600);
    return [...cells, ...charts.map((one) => 'tall: ' + one.getAttribute('aria-label'))];
})()";

/// Headings without a `?`, filters that name no column, and units of time beside another one.
const UNCLEAR: &str = r"(() => {
    const folded = (text) => text.toLowerCase().replace(/\s/g, '');
    const heads = [...document.querySelectorAll('section.table th, .figures dt')];
    const unsaid = heads.filter((head) => !head.querySelector('.help')).map((head) => 'no ?: ' + head.textContent);
    const wrong = [...document.querySelectorAll('section.table')].filter((table) => {
        const name = /([^ ]+)>10$/.exec(table.querySelector('input[type=search]').placeholder)?.[1];
        return name && ![...table.querySelectorAll('th.number')].some((head) => folded(head.textContent).startsWith(name));
    });
    const text = document.querySelector('main').innerText;
    const units = [/\bms\b/, /\bµs|\d us\b/].filter((unit) => unit.test(text));
    return [...unsaid, ...wrong.map((table) => 'filter: ' + table.dataset.table), ...(units.length > 1 ? ['ms and µs'] : [])];
})()";

/// Operations that do not lead to a kernel with its whole name.
const WITHOUT_KERNELS: &str = r"(() => {
    const [operations, kernels] = ['operations', 'kernels'].map((name) => document.querySelector(`section.table[data-table=${name}]`));
    const rows = [...operations.querySelectorAll('tbody tr[data-row]')];
    const led = (row) => {
        row.querySelector('button.to')?.click();
        const at = kernels.querySelector('tr.at td');
        return at && !at.textContent.includes('…') || at?.dataset.whole;
    };
    return rows.length ? rows.filter((row) => !led(row)).map((row) => 'leads nowhere: ' + row.textContent) : ['no operations'];
})()";

/// The colours of what charts show, as `name colour`.
const COLOURS: &str = "[...document.querySelectorAll('.legend li')].map((one) => one.textContent.toLowerCase() + ' ' + one.querySelector('i').className)";

#[test]
fn nothing_is_cut_or_unclear_and_colours_mean_the_same() -> TestResult {
    let Some(mut browser) = Browser::start()? else { return Ok(()) };
    let mut faults = Vec::new();
    let mut colours: Vec<String> = Vec::new();
    for (name, _) in pages() {
        let page = page(name)?;
        browser.show_on("screen", "light")?;
        browser.resize(1400, 1000)?;
        browser.open(&page)?;
        let mut look = |browser: &mut Browser, script: &str| -> TestResult {
            let found: Vec<String> = serde_json::from_value(browser.evaluate(script)?)?;
            faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
            Ok(())
        };
        look(&mut browser, CUT)?;
        look(&mut browser, UNCLEAR)?;
        if name == "compare-traces" {
            look(&mut browser, WITHOUT_KERNELS)?;
        }
        colours.extend(serde_json::from_value::<Vec<String>>(browser.evaluate(COLOURS)?)?);
        browser.show_on("print", "light")?;
        browser.resize(1030, 700)?;
        browser.evaluate("dispatchEvent(new Event('beforeprint'))")?;
        look(&mut browser, CUT)?;
        look(&mut browser, BROKEN_ON_PAPER)?;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for name in ["gemm", "attention", "communication", "compute", "exposed communication", "measured", "others"] {
        let mut found: Vec<&String> =
            colours.iter().filter(|one| one.rsplit_once(' ').map(|(of, _)| of) == Some(name)).collect();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
    }
    for (name, colour) in [("slower", "more"), ("faster", "less"), ("exact", "good"), ("missing", "more")] {
        assert!(colours.contains(&format!("{name} {colour}")), "{name}: {colours:?}");
    }
    Ok(())
}
