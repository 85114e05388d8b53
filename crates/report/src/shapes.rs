//! The comparison per kernel type and shape as a CSV.

use crate::operators::figure;
use perfdb_compare::shapes::ShapeRow;
use perfdb_pycompat::csv_text::push_row;
use std::io::{self, Write};

const HEADER: [&str; 8] =
    ["kernel_type", "shape_key", "tc_dur_us", "prof_dur_us", "delta_pct", "tc_count", "prof_count", "source"];

/// Writes header and rows, lines ending in CR LF.
///
/// # Errors
/// When `out` can't be written.
pub fn write_csv(rows: &[ShapeRow], out: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    push_row(&mut line, HEADER, "\r\n");
    out.write_all(line.as_bytes())?;
    for row in rows {
        line.clear();
        push_row(
            &mut line,
            [
                row.kernel_type.as_str(),
                &row.shape_key,
                &figure(row.tc_dur_us).repr(),
                &figure(row.prof_dur_us).repr(),
                &figure(row.delta_pct).repr(),
                &row.tc_count.to_string(),
                &row.prof_count.to_string(),
                &row.source,
            ],
            "\r\n",
        );
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_compare::operators::Number;

    #[test]
    fn zeros_infinities_and_quotes() {
        let row = ShapeRow {
            kernel_type: "A,\"B\"".to_owned(),
            shape_key: "1,2;3".to_owned(),
            tc_dur_us: Number::Double(12.5),
            prof_dur_us: Number::Zero,
            delta_pct: Number::Double(f64::INFINITY),
            tc_count: 2,
            prof_count: 0,
            source: "MEASURED".to_owned(),
        };
        let mut out = Vec::new();
        write_csv(&[row], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().nth(1), Some(r#""A,""B""","1,2;3",12.5,0,inf,2,0,MEASURED"#));
        assert!(text.ends_with("\r\n") && text.starts_with("kernel_type,shape_key,"));
    }
}
