//! M6: the report and its JSON.

use perfdb_compare::m6::{M6, SourceFilter};
use perfdb_pycompat::float::round;
use perfdb_pycompat::format::{fixed, fixed_grouped, pad_left};
use perfdb_pycompat::json::{Style, write};
use perfdb_pycompat::value::Value;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// An M6 and what it was computed from.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The result.
    pub m6: M6,
    /// The simulator's trace, as given.
    pub tc_trace: &'a str,
    /// The forward-pass CSV, as given.
    pub prof_trace: &'a str,
    /// Which simulated operators count.
    pub source_filter: &'a SourceFilter,
}

impl Report<'_> {
    fn source_filter(&self) -> Value {
        Value::List(self.source_filter.names().map(Value::from).collect())
    }

    /// What a person reads.
    pub fn text(&self) -> String {
        let us = |value: f64| pad_left(&fixed_grouped(round(value, 2), 1), 12);
        let ms = |value: f64| fixed_grouped(round(value, 2) / 1e3, 1);
        let rule = "=".repeat(60);
        let m6 = &self.m6;
        format!(
            "{rule}\nM6: Empirical E2E Prediction Ratio\n{rule}\n\n\
             TC trace:        {}\nProf trace:      {}\nSource filter:   {}\n\n\
             Empirical HIT total: {} us ({} ms)\n\
             Real per-fwd:        {} us ({} ms)\n  Compute:           {} us\n  hcom:              {} us\n\n\
             M6 = {}  (Empirical / Real)\n",
            self.tc_trace,
            self.prof_trace,
            self.source_filter().repr(),
            us(m6.empirical_us),
            ms(m6.empirical_us),
            us(m6.real_us),
            ms(m6.real_us),
            us(m6.compute_us),
            us(m6.collective_us),
            fixed(m6.ratio, 3),
        )
    }

    /// The ratio and both times, in one line.
    pub fn verdict(&self) -> String {
        let us = |value: f64| fixed_grouped(round(value, 2), 1);
        let M6 { ratio, empirical_us, real_us, .. } = self.m6;
        format!("M6 {}: predicted {} us, measured {} us", fixed(ratio, 3), us(empirical_us), us(real_us))
    }

    /// What a program reads: the ratio unrounded, times in microseconds with two decimals.
    pub fn json(&self) -> String {
        let m6 = &self.m6;
        let members = [
            ("m6_ratio", Value::Float(m6.ratio)),
            ("empirical_hit_us", Value::Float(round(m6.empirical_us, 2))),
            ("real_per_fwd_us", Value::Float(round(m6.real_us, 2))),
            ("selected_fwd_compute_us", Value::Float(round(m6.compute_us, 2))),
            ("selected_fwd_hcom_us", Value::Float(round(m6.collective_us, 2))),
            ("tc_trace", Value::from(self.tc_trace)),
            ("prof_trace", Value::from(self.prof_trace)),
            ("source_filter", self.source_filter()),
        ];
        let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
        write(&Value::Dict(members.collect()), Style::INDENTED)
    }
}

/// A path as the report names the JSON: one slash between parts, no `.` parts, no slash at the end. `..` stays, and so do
/// exactly two slashes at the start.
///
/// ```
/// use std::path::Path;
/// assert_eq!(perfdb_report::m6::tidy_path(Path::new("./out//deep/./m6.json")), Path::new("out/deep/m6.json"));
/// ```
pub fn tidy_path(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    let slashes = bytes.iter().take_while(|byte| **byte == b'/').count();
    let root: &[u8] = match slashes {
        0 => b"",
        2 => b"//",
        _ => b"/",
    };
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    match (root, parts.as_slice()) {
        (b"", []) => PathBuf::from("."),
        _ => PathBuf::from(OsString::from_vec([root, &parts.join(&b"/"[..])].concat())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_tidied() {
        for (path, tidy) in [
            ("a/../b", "a/../b"),
            ("/a//b/", "/a/b"),
            ("//a/b", "//a/b"),
            ("///a/b", "/a/b"),
            (".", "."),
            ("./", "."),
            ("/", "/"),
            ("//", "//"),
            ("a.json", "a.json"),
            ("..", ".."),
        ] {
            assert_eq!(tidy_path(Path::new(path)).as_os_str(), tidy, "{path}");
        }
    }

    #[test]
    fn report_and_json() {
        let filter = SourceFilter::parse("it's,MEASURED");
        let m6 = M6::from_sums(1234567.891, 1000000.125, 250000.0);
        let report = Report { m6, tc_trace: "t.json", prof_trace: "p.csv", source_filter: &filter };
        insta::assert_snapshot!(report.text() + "\n" + &report.json());
    }
}
