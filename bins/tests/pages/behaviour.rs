//! What the script of a page does.

use super::browser::Browser;
use perfdb_report::page::{Accuracy, AccuracyPoint, Block, Column, Page, Part, Provenance, Table};
use std::error::Error;
use std::path::PathBuf;
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

const ROWS: usize = 100_000;
const HOSTILE: &str = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>";

/// What tells it from other kernels of the template is in its middle.
const LONG: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";

/// A page with a long table, and a chart that leads to it.
fn long_page() -> Page {
    let name = |at: usize| match at {
        1 => LONG.to_owned(),
        70_000 => HOSTILE.to_owned(),
        _ => format!("Kernel{}", at % 500),
    };
    let names: Vec<String> = (0..ROWS).map(name).collect();
    let table = Table::new(
        "rows",
        "All rows",
        vec![
            Column::text("Kernel", names),
            Column::decimal("Time", (0..ROWS).map(|at| (at * 7919 % ROWS) as f64), 1).unit("µs"),
            Column::error_percent(
                "Error",
                (0..ROWS).map(|at| if at == 5 { f64::NAN } else { at as f64 / 1000.0 - 50.0 }),
            ),
            Column::text("Note", (0..ROWS).map(|at| if at == 0 { "=1+1" } else { "" })).hidden(),
        ],
    );
    let point = |row: usize| AccuracyPoint { name: HOSTILE, predicted_us: 10.0, measured_us: 20.0, class: 0, row };
    let chart = Accuracy { classes: vec![HOSTILE], points: vec![point(90_000)], sides: ("Predicted", "Measured") };
    let part = Part {
        name: HOSTILE.to_owned(),
        verdict: HOSTILE.to_owned(),
        blocks: vec![Block::Chart(chart.chart(HOSTILE).leads_to("rows")), Block::Table(table)],
        ..Part::default()
    };
    Page { title: HOSTILE.to_owned(), parts: vec![part], provenance: Provenance::default() }
}

fn opened() -> Result<Option<(Browser, TempDir)>, Box<dyn Error>> {
    let Some(mut browser) = Browser::start()? else { return Ok(None) };
    let folder = TempDir::new()?;
    let path: PathBuf = folder.path().join("page.html");
    std::fs::write(&path, long_page().to_html()?)?;
    browser.resize(1200, 900)?;
    browser.open(&path)?;
    Ok(Some((browser, folder)))
}

/// The texts of a column, from 1, of the rows that are in the document.
fn column(browser: &mut Browser, number: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let found = browser.evaluate(&format!(
        "[...document.querySelectorAll('table.rows tbody tr:not(.gap) td:nth-child({number})')].map((cell) => cell.textContent)"
    ))?;
    Ok(serde_json::from_value(found)?)
}

const ROWS_IN_DOCUMENT: &str = "document.querySelectorAll('table.rows tbody tr').length";
const STATUS: &str = "document.querySelector('.status').textContent";

#[test]
fn a_long_table_sorts_filters_and_scrolls_with_few_rows_in_the_document() -> TestResult {
    let Some((mut browser, _folder)) = opened()? else { return Ok(()) };
    assert!(browser.evaluate(ROWS_IN_DOCUMENT)?.as_u64().ok_or("rows")? < 100);
    // Largest first, smallest first, the order of the page.
    browser.click("th:nth-child(2) button")?;
    assert_eq!(column(&mut browser, 2)?[..2], ["99,999.0", "99,998.0"]);
    assert_eq!(browser.evaluate("document.querySelector('th:nth-child(2)').ariaSort")?, "descending");
    browser.click("th:nth-child(2) button")?;
    assert_eq!(column(&mut browser, 2)?[..2], ["0.0", "1.0"]);
    browser.click("th:nth-child(2) button")?;
    assert_eq!(column(&mut browser, 2)?[..2], ["0.0", "7,919.0"]);
    // What is missing stands last, either way.
    for _ in 0..2 {
        browser.click("th:nth-child(3) button")?;
        browser.evaluate("document.querySelector('.scroll').scrollTop = 1e9")?;
        browser.settle()?;
        assert_eq!(column(&mut browser, 3)?.last().map(String::as_str), Some(""));
    }
    browser.click("th:nth-child(3) button")?;
    browser.click("input[type=search]")?;
    browser.enter("Kernel499 error>49")?;
    assert_eq!(browser.evaluate(STATUS)?, "2 of 100,000 rows");
    assert_eq!(column(&mut browser, 3)?, ["+49.5", "+50.0"]);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    Ok(())
}

#[test]
fn columns_are_chosen_and_rows_copied() -> TestResult {
    let Some((mut browser, _folder)) = opened()? else { return Ok(()) };
    browser.click(".columns summary")?;
    browser.click(".columns label:nth-child(4) input")?;
    assert_eq!(column(&mut browser, 4)?.first().map(String::as_str), Some("=1+1"));
    browser.click("input[type=search]")?;
    browser.enter("=1+1")?;
    assert_eq!(browser.evaluate(STATUS)?, "1 of 100,000 rows");
    // The page's clipboard, so that the test reads what was copied.
    browser.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")?;
    browser.click("button.copy")?;
    assert_eq!(
        browser.evaluate("window.copied")?,
        "\"Kernel\",\"Time µs\",\"Error %\",\"Note\"\r\nKernel0,0,-50,'=1+1\r\n"
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
    Ok(())
}

#[test]
fn a_long_name_keeps_its_functor_and_a_click_shows_it_whole() -> TestResult {
    let Some((mut browser, _folder)) = opened()? else { return Ok(()) };
    let shown = |browser: &mut Browser| column(browser, 1).map(|names| names[1].clone());
    let short = shown(&mut browser)?;
    assert!(short.starts_with("void at::native::") && short.contains("CUDAFunctor_add…"), "{short}");
    assert!(short.chars().count() < LONG.len(), "{short}");
    browser.click("td.cut")?;
    assert_eq!(shown(&mut browser)?, LONG);
    browser.click("td.cut")?;
    assert_eq!(shown(&mut browser)?, short);
    Ok(())
}

#[test]
fn points_lead_to_their_rows_by_mouse_and_by_keyboard() -> TestResult {
    let Some((mut browser, _folder)) = opened()? else { return Ok(()) };
    let marked = "document.querySelector('tr.at')?.dataset.row";
    browser.click(".point")?;
    assert_eq!(browser.evaluate(marked)?, "90000");
    assert!(browser.evaluate(ROWS_IN_DOCUMENT)?.as_u64().ok_or("rows")? < 100);
    browser.click("input[type=search]")?;
    browser.enter("Kernel1")?;
    browser.evaluate("document.querySelector('.chart svg').focus()")?;
    // Focus scrolls, and what scrolls hides the tip.
    browser.settle()?;
    browser.press("ArrowRight")?;
    assert_eq!(browser.evaluate("document.getElementById('tip').hidden")?, false);
    browser.press("Enter")?;
    // The filter that hid the row is taken away.
    assert_eq!(browser.evaluate(marked)?, "90000");
    assert_eq!(browser.evaluate("document.querySelector('input[type=search]').value")?, "");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    Ok(())
}

#[test]
fn hostile_names_run_nothing_and_fetch_nothing() -> TestResult {
    let Some((mut browser, _folder)) = opened()? else { return Ok(()) };
    browser.click("input[type=search]")?;
    browser.enter("onerror")?;
    assert_eq!(column(&mut browser, 1)?, [HOSTILE]);
    assert_eq!(browser.evaluate("typeof window.hit")?, "undefined");
    assert_eq!(browser.evaluate("document.images.length")?, 0);
    assert_eq!(browser.evaluate("document.querySelector('h1').textContent")?, HOSTILE);
    // Nor would a script that came into the page in some other way.
    browser.evaluate("(() => { const script = document.createElement('script'); script.textContent = 'window.hit = 1'; document.body.append(script); })()")?;
    assert_eq!(browser.evaluate("typeof window.hit")?, "undefined");
    assert!(browser.complaints().iter().all(|complaint| complaint.contains("Content Security Policy")));
    Ok(())
}

#[test]
fn paper_has_rows_of_its_own_and_the_theme_can_be_chosen() -> TestResult {
    let Some((mut browser, _folder)) = opened()? else { return Ok(()) };
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")?;
    assert_eq!(browser.evaluate(ROWS_IN_DOCUMENT)?, 201);
    let last = browser.evaluate("document.querySelector('table.rows tbody tr:last-child').textContent")?;
    assert_eq!(last, "99,800 more rows are not printed.");
    browser.evaluate("dispatchEvent(new Event('afterprint'))")?;
    assert!(browser.evaluate(ROWS_IN_DOCUMENT)?.as_u64().ok_or("rows")? < 100);
    browser.click("button.theme")?;
    browser.click("button.theme")?;
    assert_eq!(browser.evaluate("getComputedStyle(document.documentElement).colorScheme")?, "dark");
    assert_eq!(browser.evaluate("getComputedStyle(document.body).backgroundColor")?, "rgb(21, 24, 27)");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    Ok(())
}
