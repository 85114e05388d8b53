//! A table that fits the line that it is read on.

use super::{FEWEST, Layout, shortened};
use anstyle::{AnsiColor, Style};
use perfdb_files::escape::one_line;

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// On the left; loses its middle where the line is too short.
    Name,
    /// On the left, over several lines where one is too short; the last column.
    Sentence,
    /// On the right, always whole.
    Number,
    /// A part of a whole, for layouts that have bars.
    Bar,
}

/// A column: its heading, how its cells are set, and what becomes of it on a short line.
///
/// It is as wide as its widest cell.
#[derive(Debug, Clone)]
pub struct Column {
    heading: String,
    kind: Kind,
    least_width: usize,
    gap: usize,
    left_out_as: Option<u8>,
}

/// Spaces between columns.
const GAP: usize = 2;
/// Characters of a bar.
const BAR_WIDTH: usize = 8;

impl Column {
    fn new(heading: &str, kind: Kind) -> Column {
        Column { heading: heading.to_owned(), kind, least_width: 0, gap: GAP, left_out_as: None }
    }

    /// Names: on the left, without their middle where the line is too short for them.
    pub fn name(heading: &str) -> Column {
        Column::new(heading, Kind::Name)
    }

    /// Sentences, which go on in the next line where they have to. The last column.
    pub fn sentence(heading: &str) -> Column {
        Column::new(heading, Kind::Sentence)
    }

    /// Numbers: on the right, never shortened.
    pub fn number(heading: &str) -> Column {
        Column::new(heading, Kind::Number)
    }

    /// Bars of [`Cell::part`]; a layout without bars lacks the column.
    pub fn bar() -> Column {
        Column::new("", Kind::Bar).at_least(BAR_WIDTH)
    }

    /// The width that it has however short its cells are.
    pub fn at_least(self, least_width: usize) -> Column {
        Column { least_width, ..self }
    }

    /// The spaces before it, in place of two.
    pub fn gap(self, gap: usize) -> Column {
        Column { gap, ..self }
    }

    /// What is left out where the names of a line at their shortest leave no room for it; the highest rank first.
    pub fn optional(self, rank: u8) -> Column {
        Column { left_out_as: Some(rank), ..self }
    }
}

/// What a colour says about a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    /// Nothing.
    #[default]
    Plain,
    TooMuch,
    TooLittle,
    /// Something is wrong.
    Error,
    /// Something may be wrong.
    Warning,
}

impl Tone {
    /// The tone of a difference; that of nothing is plain.
    pub(crate) fn of_difference(difference: f64) -> Tone {
        match difference {
            difference if difference > 0.0 => Tone::TooMuch,
            difference if difference < 0.0 => Tone::TooLittle,
            _ => Tone::Plain,
        }
    }

    /// The tone of findings of this weight.
    pub(crate) fn of_severity(severity: perfdb_store::lint::Severity) -> Tone {
        use perfdb_store::lint::Severity;
        match severity {
            Severity::Error => Tone::Error,
            Severity::Warning => Tone::Warning,
            Severity::Note => Tone::Plain,
        }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Tone::Plain => Style::new(),
            Tone::TooMuch | Tone::Warning => AnsiColor::Yellow.on_default(),
            Tone::TooLittle => AnsiColor::Cyan.on_default(),
            Tone::Error => AnsiColor::Red.on_default(),
        }
    }
}

/// A cell. Control characters in it are escaped, so that names of other people's making cannot command a terminal.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    tone: Tone,
    part: f64,
}

impl Cell {
    /// A part of a whole, from 0 to 1, for [`Column::bar`].
    pub fn part(part: f64) -> Cell {
        Cell { part, ..Cell::default() }
    }

    /// The cell in the colour of its tone.
    pub(crate) fn toned(self, tone: Tone) -> Cell {
        Cell { tone, ..self }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text: one_line(&text), ..Cell::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        text.to_owned().into()
    }
}

/// Rows of cells under headings.
///
/// ```
/// use perfdb_report::layout::{Cell, Column, Layout, Table};
///
/// let mut table = Table::new([Column::name("kernel"), Column::number("us")]);
/// table.push(["MatMulV2", "12.5"].map(Cell::from));
/// assert_eq!(table.text(Layout::default()), "kernel      us\nMatMulV2  12.5\n");
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

/// A column that is shown, with its place among all columns.
struct Shown<'t> {
    at: usize,
    column: &'t Column,
    width: usize,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new(), indent: 0 }
    }

    /// Every line begins with this number of spaces.
    pub fn indented(self, indent: usize) -> Table {
        Table { indent, ..self }
    }

    /// Adds a row, a cell for each column.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        self.rows.push(row.into_iter().collect());
    }

    /// The lines: headings, where there are some, and rows. Columns that a short line has no room for are named below them.
    pub fn text(&self, layout: Layout) -> String {
        let natural: Vec<Shown<'_>> = self.natural(layout);
        let (mut shown, left_out) = self.chosen(natural, layout);
        if let Some(columns) = layout.columns {
            shorten(&mut shown, columns.saturating_sub(self.indent));
        }
        let mut out = String::new();
        if shown.iter().any(|one| !one.column.heading.is_empty()) {
            let headings: Vec<Cell> = self.columns.iter().map(|column| column.heading.as_str().into()).collect();
            let plain = Layout { has_colours: false, has_bars: false, ..layout };
            let line = self.line(&headings, &shown, plain);
            out.push_str(&layout.heading(line.trim_end()));
            out.push('\n');
        }
        for row in &self.rows {
            out.push_str(&self.line(row, &shown, layout));
        }
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            let line = format!("{}(no room for: {names})\n", " ".repeat(self.indent));
            out.push_str(&layout.wrapped_lines(&line));
        }
        out
    }

    /// All columns that the layout has, as wide as their cells.
    fn natural(&self, layout: Layout) -> Vec<Shown<'_>> {
        let is_shown = |column: &Column| column.kind != Kind::Bar || layout.has_bars;
        let width = |at: usize, column: &Column| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.chars().count());
            cells.chain([column.heading.chars().count(), column.least_width]).max().unwrap_or(0)
        };
        let columns = self.columns.iter().enumerate().filter(|(_, column)| is_shown(column));
        columns.map(|(at, column)| Shown { at, column, width: width(at, column) }).collect()
    }

    /// The columns that have room when names are at their shortest, and the headings of the others.
    fn chosen<'t>(&'t self, mut shown: Vec<Shown<'t>>, layout: Layout) -> (Vec<Shown<'t>>, Vec<&'t str>) {
        let mut left_out = Vec::new();
        let Some(columns) = layout.columns else { return (shown, left_out) };
        let room = columns.saturating_sub(self.indent);
        let shortest = |shown: &[Shown<'_>]| line_width(shown, least);
        while shortest(&shown) > room {
            let optional = shown.iter().enumerate().filter_map(|(at, one)| Some((one.column.left_out_as?, at)));
            let Some((_, at)) = optional.max() else { break };
            let heading = shown.remove(at).column.heading.as_str();
            if !heading.is_empty() {
                left_out.insert(0, heading);
            }
        }
        (shown, left_out)
    }

    /// One row with its line feed.
    fn line(&self, row: &[Cell], shown: &[Shown<'_>], layout: Layout) -> String {
        let mut line = " ".repeat(self.indent);
        let mut used = self.indent;
        // What is only there to fill a column is left away at the end of a line.
        let mut spaces = 0;
        for (index, one) in shown.iter().enumerate() {
            let none = Cell::default();
            let cell = row.get(one.at).unwrap_or(&none);
            let gap = if index == 0 { 0 } else { one.column.gap };
            let text = match one.column.kind {
                Kind::Bar => layout.part(cell.part, one.width),
                Kind::Name => shortened(&cell.text, one.width).into_owned(),
                Kind::Sentence => layout.wrapped(&cell.text, used + gap),
                Kind::Number => cell.text.clone(),
            };
            let fill = one.width.saturating_sub(text.chars().count());
            let (before, after) = if one.column.kind == Kind::Number { (fill, 0) } else { (0, fill) };
            spaces += gap + before;
            if !text.is_empty() {
                line.push_str(&" ".repeat(spaces));
                line.push_str(&layout.toned(&text, cell.tone));
                spaces = 0;
            }
            spaces += after;
            used += gap + one.width;
        }
        line + "\n"
    }
}

/// The width that a column cannot go below.
fn least(one: &Shown<'_>) -> usize {
    match one.column.kind {
        Kind::Name | Kind::Sentence => one.width.min(FEWEST),
        Kind::Number | Kind::Bar => one.width,
    }
}

fn line_width(shown: &[Shown<'_>], width: impl Fn(&Shown<'_>) -> usize) -> usize {
    let gaps: usize = shown.iter().skip(1).map(|one| one.column.gap).sum();
    shown.iter().map(width).sum::<usize>() + gaps
}

/// Takes from the widest names what the line is too long by.
fn shorten(shown: &mut [Shown<'_>], room: usize) {
    // Sentences take what is left, and go on in the next line.
    if let Some(last) = shown.last_mut().filter(|last| last.column.kind == Kind::Sentence) {
        last.width = 0;
    }
    while line_width(shown, |one| one.width) > room {
        let names = shown.iter_mut().filter(|one| one.column.kind == Kind::Name && one.width > FEWEST);
        let Some(widest) = names.max_by_key(|one| one.width) else { return };
        widest.width -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(columns: usize) -> Layout {
        Layout { columns: Some(columns), ..Layout::default() }
    }

    fn table() -> Table {
        let columns = [
            Column::name("operation"),
            Column::number("calls").optional(1),
            Column::number("us").at_least(8),
            Column::name("kernel"),
        ];
        let mut table = Table::new(columns);
        let kernel = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(Params)";
        table.push(["Attention", "20", "111.57", kernel].map(Cell::from));
        table.push(["Quantize", "5", "-6.99", "quantize"].map(Cell::from));
        table
    }

    #[test]
    fn names_are_shortened_before_columns_are_left_out() {
        insta::assert_snapshot!(
            [200, 80, 60, 42, 10].map(|columns| format!("{columns}\n{}", table().text(layout(columns)))).concat()
        );
    }

    #[test]
    fn every_line_fits_where_there_is_room_for_the_shortest_names() {
        for columns in 44..140 {
            let text = table().text(layout(columns));
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}\n{text}");
        }
    }

    #[test]
    fn sentences_go_on_in_the_next_line() {
        let mut table = Table::new([Column::name(""), Column::sentence("")]).indented(2);
        table.push(["error", "kernels begin before the one in front of them ends"].map(Cell::from));
        assert_eq!(table.text(layout(40)), "  error  kernels begin before the one in\n         front of them ends\n");
        assert_eq!(table.text(Layout::default()).lines().count(), 1);
    }

    #[test]
    fn cells_have_neither_line_ends_nor_commands() {
        let mut table = Table::new([Column::name("")]);
        table.push([Cell::from("a\u{1b}[31m\nb")]);
        assert_eq!(table.text(Layout::default()), "a\\u{1b}[31m\\nb\n");
    }

    #[test]
    fn bars_and_colours_are_of_terminals_alone() {
        let mut table = Table::new([Column::number("ms"), Column::bar().at_least(4), Column::name("")]);
        table.push([Cell::from("+1.5").toned(Tone::TooMuch), Cell::part(0.5), "x".into()]);
        assert_eq!(table.text(Layout::default()), "  ms\n+1.5  x\n");
        let terminal = Layout { has_bars: true, has_colours: true, ..layout(80) };
        assert_eq!(table.text(terminal), "\u{1b}[1m  ms\u{1b}[0m\n\u{1b}[33m+1.5\u{1b}[0m  ██    x\n");
    }
}
