//! Draws what an interval is: rows of a table, the prediction between and beyond them, and its interval, as SVG on stdout.
//!
//! `cargo run --example draw_interval < testdata/prediction/products.csv > docs/img/prediction-interval.svg`

use perfdb_model::predict::{MatMul, Operands, Point, Precision, Rows, Table};
use std::error::Error;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const MARGIN: f64 = 60.0;
/// The weight that is drawn.
const COLUMNS: f64 = 4096.0;
const INNER: f64 = 4096.0;
/// Rows of the drawn weight above this are left out.
const LARGEST_KNOWN: f64 = 1024.0;

/// Where rows and microseconds lie in the picture.
struct Frame {
    rows: (f64, f64),
    time_us: (f64, f64),
}

impl Frame {
    fn x(&self, rows: f64) -> f64 {
        MARGIN + (WIDTH - 2.0 * MARGIN) * (rows / self.rows.0).ln() / (self.rows.1 / self.rows.0).ln()
    }

    fn y(&self, time_us: f64) -> f64 {
        HEIGHT
            - MARGIN
            - (HEIGHT - 2.0 * MARGIN) * (time_us / self.time_us.0).ln() / (self.time_us.1 / self.time_us.0).ln()
    }
}

fn product(rows: f64, columns: f64, inner: f64) -> Point {
    Point::matmul(MatMul { rows, columns, inner }, Operands::of(Precision::Bf16))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut known = Rows::new(3);
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for (line, record) in csv::Reader::from_reader(std::io::stdin()).deserialize().enumerate() {
        let (rows, columns, inner, time_us): (f64, f64, f64, f64) = record?;
        let is_drawn = (columns, inner) == (COLUMNS, INNER);
        // Of the drawn weight only powers of four are known.
        let is_kept = !is_drawn || (rows <= LARGEST_KNOWN && rows.log2() % 2.0 == 0.0);
        if is_kept {
            known.push(line as u32 + 2, &product(rows, columns, inner), time_us, None);
        }
        if is_drawn {
            if is_kept { kept.push((rows, time_us)) } else { left_out.push((rows, time_us)) }
        }
    }
    let table = Table::new(vec![known], Some(0));
    let frame = Frame { rows: (1.0, 10_000.0), time_us: (20.0, 4000.0) };
    let (mut line, mut above, mut below) = (String::new(), String::new(), Vec::new());
    for step in 0..=260 {
        let rows = (f64::from(step) / 20.0).exp2();
        let answer = table.predict(0, &product(rows, COLUMNS, INNER)).ok_or("no answer")?;
        let x = frame.x(rows);
        write!(line, "{x:.1},{:.1} ", frame.y(answer.duration_us))?;
        write!(above, "{x:.1},{:.1} ", frame.y(answer.high_us))?;
        below.push(format!("{x:.1},{:.1}", frame.y(answer.low_us)));
    }
    below.reverse();
    println!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">"
    );
    println!("<title>Prediction between and beyond measured rows, with its interval</title>");
    println!("<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>");
    println!("<polygon points=\"{above}{}\" fill=\"#9ecae1\" opacity=\"0.6\"/>", below.join(" "));
    println!("<polyline points=\"{line}\" fill=\"none\" stroke=\"#08519c\" stroke-width=\"1.5\"/>");
    for (rows, time_us) in &kept {
        println!("<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"#08519c\"/>", frame.x(*rows), frame.y(*time_us));
    }
    for (rows, time_us) in &left_out {
        let (x, y) = (frame.x(*rows), frame.y(*time_us));
        println!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#fff\" stroke=\"#d94801\" stroke-width=\"1.5\"/>");
    }
    for power in (0..=12).step_by(2) {
        let rows = 2f64.powi(power);
        println!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{rows}</text>",
            frame.x(rows),
            HEIGHT - MARGIN + 20.0
        );
    }
    for time_us in [20.0, 100.0, 500.0, 2000.0] {
        println!(
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{time_us} µs</text>",
            MARGIN - 6.0,
            frame.y(time_us) + 4.0
        );
    }
    println!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">rows of the left matrix</text>",
        WIDTH / 2.0,
        HEIGHT - 14.0
    );
    for (index, (mark, text)) in [
        ("<circle cx=\"0\" cy=\"-4\" r=\"5\" fill=\"#08519c\"/>", "measured"),
        ("<circle cx=\"0\" cy=\"-4\" r=\"4\" fill=\"#fff\" stroke=\"#d94801\" stroke-width=\"1.5\"/>", "left out"),
        ("<rect x=\"-8\" y=\"-10\" width=\"16\" height=\"12\" fill=\"#9ecae1\" opacity=\"0.6\"/>", "90 % interval"),
    ]
    .iter()
    .enumerate()
    {
        println!("<g transform=\"translate(90 {})\">{mark}<text x=\"14\">{text}</text></g>", 40 + 20 * index);
    }
    println!("</svg>");
    Ok(())
}
