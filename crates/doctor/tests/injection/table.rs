//! Kernel tables of a small model, and their defects.

use super::random::Random;

/// A row; times in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    device: &'static str,
    task: String,
    stream: &'static str,
    kind: &'static str,
    core: &'static str,
    start: i64,
    duration: i64,
    wait: String,
}

/// A table: its header and rows; what is done to the text at last.
pub(crate) struct Table {
    header: String,
    rows: Vec<Row>,
    finish: fn(String) -> String,
}

const LAYER: [(&str, i64); 6] = [
    ("RmsNorm", 6_000),
    ("MatMulV2", 76_000),
    ("FusedInferAttentionScore", 60_000),
    ("hcom_allReduce_", 40_000),
    ("SwiGlu", 9_000),
    ("GroupedMatmul", 95_000),
];
const LAYERS: usize = 20;

pub(crate) fn clean(random: &mut Random) -> Table {
    let mut rows = Vec::new();
    let mut start = 1_774_512_345_151_432_893 + random.below(1_000_000) as i64;
    for layer in 0..LAYERS {
        for (place, (kind, usual)) in LAYER.into_iter().enumerate() {
            let collective = kind.starts_with("hcom");
            let row = Row {
                device: "0",
                task: (layer * LAYER.len() + place).to_string(),
                stream: if collective { "83" } else { "2" },
                kind,
                core: if collective { "COMMUNICATION" } else { "AI_CORE" },
                start,
                duration: random.about(usual),
                wait: "0.5".to_owned(),
            };
            if collective {
                rows.push(Row { task: "N/A".to_owned(), stream: "N/A", ..row.clone() });
            }
            start += row.duration + 500;
            rows.push(row);
        }
    }
    let header = "Device_id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)";
    Table { header: header.to_owned(), rows, finish: |text| text }
}

pub(crate) fn text(table: &Table) -> String {
    let time = |time: i64| format!("{}{}.{:03}", if time < 0 { "-" } else { "" }, time.abs() / 1000, time.abs() % 1000);
    let mut text = format!("{}\n", table.header);
    for row in &table.rows {
        text.push_str(&format!(
            "{},{},{},aclnn{},{},{},{}\t,{},{}\n",
            row.device,
            row.task,
            row.stream,
            row.kind,
            row.kind,
            row.core,
            time(row.start),
            time(row.duration),
            row.wait
        ));
    }
    (table.finish)(text)
}

impl Table {
    fn some(&self, random: &mut Random) -> usize {
        random.within(1, self.rows.len() - 1)
    }

    fn move_from(&mut self, at: usize, by: i64) {
        for row in &mut self.rows[at..] {
            row.start += by;
        }
    }

    /// A row that is no collective.
    fn some_plain(&self, random: &mut Random) -> usize {
        loop {
            let at = self.some(random);
            if !self.rows[at].kind.starts_with("hcom") {
                return at;
            }
        }
    }
}

type Defect = (&'static str, &'static [&'static str], fn(&mut Table, &mut Random));

pub(crate) const DEFECTS: &[Defect] = &[
    ("column missing", &["MISSING_COLUMNS"], |table, random| {
        let column =
            *random.pick(&["Type", "Start Time(us)", "Duration(us)", "Stream ID", "Wait Time(us)", "Accelerator Core"]);
        table.header = table.header.replace(column, "Something");
    }),
    ("column twice", &["DUPLICATE_COLUMNS"], |table, _| table.header = table.header.replace("Task ID", "Name")),
    ("ragged", &["RAGGED_ROWS"], |table, random| {
        let at = table.some(random);
        table.rows[at].wait.push_str(",1");
    }),
    ("cut", &["RAGGED_ROWS"], |table, _| table.finish = |text| text[..text.len() - 12].to_owned()),
    ("bad number", &["BAD_NUMBERS"], |table, _| table.finish = |text| text.replacen("\t,", "x\t,", 1)),
    ("rounded", &["TIMES_ROUNDED"], |table, _| {
        for row in &mut table.rows {
            row.start -= row.start % 1_000_000;
        }
    }),
    ("exponent", &["TIMES_ROUNDED"], |table, _| {
        table.finish = |text| {
            let end = text.find("\t,").expect("a start");
            let from = text[..end].rfind(',').expect("a cell") + 1;
            let start: f64 = text[from..end].parse().expect("a number");
            format!("{}{start:e}{}", &text[..from], &text[end..])
        };
    }),
    ("row twice", &["DUPLICATE_EVENTS"], |table, random| {
        let at = table.some(random);
        let copy = table.rows[at].clone();
        table.rows.push(copy);
    }),
    ("twin missing", &["DOUBLE_COLLECTIVE"], |table, random| {
        let twins: Vec<usize> = (0..table.rows.len()).filter(|at| table.rows[*at].stream == "N/A").collect();
        table.rows.remove(*random.pick(&twins));
    }),
    ("negative wait", &["BAD_WAIT"], |table, random| {
        let at = table.some(random);
        table.rows[at].wait = "-3".to_owned();
    }),
    ("long wait", &["BAD_WAIT"], |table, random| {
        let at = table.some(random);
        table.rows[at].wait = "90000000".to_owned();
    }),
    ("other device", &["MIXED_DEVICES"], |table, random| {
        let at = table.some(random);
        table.rows[at].device = "1";
    }),
    ("two passes", &["SEVERAL_PASSES"], |table, _| {
        let first = table.rows.first().expect("rows").start;
        let last = table.rows.last().expect("rows").start;
        let mut again = table.rows.clone();
        for row in &mut again {
            row.start += last - first + 3_000_000;
        }
        table.rows.append(&mut again);
    }),
    ("long gap", &["STEP_GAP"], |table, random| {
        let at = table.some_plain(random);
        table.move_from(at, 30_000_000);
    }),
    ("overlap", &["OVERLAP_IMPOSSIBLE"], |table, random| {
        let at = table.some_plain(random);
        // Into the next row of the stream, over a collective that may stand between.
        table.rows[at].duration += 50_000 + table.rows[at + 1].duration;
    }),
    ("collectives wait", &["WAITING_COLLECTIVES"], |table, random| {
        let time: i64 = table.rows.iter().map(|row| row.duration).sum();
        let twins: Vec<usize> = (0..table.rows.len()).filter(|at| table.rows[*at].stream == "N/A").collect();
        let at = *random.pick(&twins);
        for row in &mut table.rows[at..at + 2] {
            row.duration += time / 10;
        }
        table.move_from(at + 2, time / 10);
    }),
    ("nanoseconds", &["WRONG_UNIT"], |table, _| {
        for row in &mut table.rows {
            row.duration *= 1000;
        }
    }),
    ("milliseconds", &["WRONG_UNIT"], |table, _| {
        for row in &mut table.rows {
            row.duration /= 1000;
        }
    }),
    ("negative", &["NEGATIVE_DURATION"], |table, random| {
        let at = table.some(random);
        table.rows[at].duration = -2_000;
    }),
    ("zeros", &["ZERO_DURATION"], |table, random| {
        for _ in 0..6 {
            let at = table.some(random);
            table.rows[at].duration = 0;
        }
    }),
    ("empty", &["NO_KERNELS"], |table, _| table.rows.clear()),
];
