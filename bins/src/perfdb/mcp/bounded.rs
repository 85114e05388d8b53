//! Answers of at most N bytes. What a tool puts first stays; what is left out has an id, with which it is asked for.
//!
//! The id of a page is `line N` in a text, and `POINTER N` in JSON: the elements from number N of the list or object at a JSON pointer.

use serde_json::{Map, Value, json};

/// Pages that an answer names; the others are counted.
const NAMED: usize = 12;
/// Elements of a list of plain values (a shape, say) that stay together, and members of an object.
const TOGETHER: usize = 32;

/// Why a page is not one of an answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("page {page:?}: not a page of this answer; pages are named where an answer is cut")]
pub(super) struct UnknownPage {
    page: String,
}

fn unknown(page: &str) -> UnknownPage {
    UnknownPage { page: perfdb_files::escape::excerpt(page).to_string() }
}

/// Whole lines of a text, up to `most` bytes.
pub(super) fn text(text: &str, page: Option<&str>, most: usize) -> Result<String, UnknownPage> {
    let lines: Vec<&str> = text.lines().collect();
    let from = match page {
        None => 0,
        Some(page) => {
            let number = page.strip_prefix("line ").and_then(|number| number.parse::<usize>().ok());
            number.filter(|number| *number < lines.len()).ok_or_else(|| unknown(page))?
        }
    };
    let rest = &lines[from..];
    if rest.iter().map(|line| line.len() + 1).sum::<usize>() <= most {
        return Ok(rest.iter().map(|line| format!("{line}\n")).collect());
    }
    let note = |shown: usize| match rest.len() - shown {
        0 => String::new(),
        left => format!("… {left} more lines: page \"line {}\"\n", from + shown),
    };
    let room = most.saturating_sub(note(0).len() + 8);
    let mut shown = 0;
    let mut out = String::new();
    for line in rest {
        if out.len() + line.len() + 1 > room {
            break;
        }
        out.push_str(line);
        out.push('\n');
        shown += 1;
    }
    if shown == 0 {
        out = format!("{}…\n", start(rest[0], room.saturating_sub(4)));
        shown = 1;
    }
    Ok(out + &note(shown))
}

/// The first bytes of a text, whole characters.
fn start(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// JSON of up to `most` bytes: `{"answer": …, "more": [{"page": …, "left_out": N}]}`.
pub(super) fn json(value: &Value, page: Option<&str>, most: usize) -> Result<String, UnknownPage> {
    let whole = match page {
        None => Page { pointer: String::new(), from: 0, value },
        Some(page) => {
            let (pointer, from) = page.rsplit_once(' ').ok_or_else(|| unknown(page))?;
            let from = from.parse().map_err(|_| unknown(page))?;
            let value = value.pointer(pointer).ok_or_else(|| unknown(page))?;
            Page { pointer: pointer.to_owned(), from, value }
        }
    };
    let fits = |limits: Limits| Some(whole.cut(limits)).filter(|text| text.len() <= most);
    let rows = |rows| Limits { rows, ..Limits::NONE };
    let Some(mut best) = fits(rows(1)) else {
        let tighter = [
            Limits { rows: 1, text: 200, members: usize::MAX },
            Limits { rows: 0, text: 200, members: usize::MAX },
            Limits { rows: 0, text: 80, members: 32 },
            Limits { rows: 0, text: 80, members: 8 },
            Limits { rows: 0, text: 40, members: 3 },
            Limits { rows: 0, text: 40, members: 0 },
        ];
        let shortest =
            || json!({"answer": null, "note": "max_bytes is too small for a part of this answer"}).to_string();
        return Ok(tighter.into_iter().find_map(fits).unwrap_or_else(shortest));
    };
    // The most rows of each list that fit: doubled until they do not, then between the last two.
    let (mut low, mut high) = (1, 2);
    while let Some(text) = fits(rows(high)) {
        let is_whole = text == best && !text.contains("\"more\"");
        (best, low) = (text, high);
        if is_whole || high > most {
            return Ok(best);
        }
        high *= 2;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match fits(rows(middle)) {
            Some(text) => (best, low) = (text, middle),
            None => high = middle,
        }
    }
    Ok(best)
}

/// How much of a value stays.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Objects and lists in a list.
    rows: usize,
    /// Bytes of a text.
    text: usize,
    /// Members of an object.
    members: usize,
}

impl Limits {
    const NONE: Limits = Limits { rows: usize::MAX, text: usize::MAX, members: usize::MAX };
}

/// A part of an answer.
struct Page<'v> {
    pointer: String,
    from: usize,
    value: &'v Value,
}

/// What was left out of one list or object.
struct LeftOut {
    pointer: String,
    from: usize,
    count: usize,
}

impl Page<'_> {
    fn cut(&self, limits: Limits) -> String {
        let mut left_out = Vec::new();
        let answer = cut(self.value, self.from, &self.pointer, limits, &mut left_out);
        let mut envelope = Map::new();
        envelope.insert("answer".to_owned(), answer);
        if !left_out.is_empty() {
            let others = left_out.len().saturating_sub(NAMED);
            // The lists nearest to the top first, in the order of the answer.
            left_out.sort_by_key(|one| one.pointer.matches('/').count());
            let more = left_out.iter().take(NAMED);
            let more = more.map(|one| json!({"page": format!("{} {}", one.pointer, one.from), "left_out": one.count}));
            envelope.insert("more".to_owned(), more.collect());
            if others > 0 {
                envelope.insert("more_of_other_lists".to_owned(), json!(others));
            }
        }
        Value::Object(envelope).to_string()
    }
}

fn cut(value: &Value, from: usize, pointer: &str, limits: Limits, left_out: &mut Vec<LeftOut>) -> Value {
    let mut leave_out = |kept: usize, count: usize| {
        if let Some(count) = count.checked_sub(from + kept).filter(|count| *count > 0) {
            left_out.push(LeftOut { pointer: pointer.to_owned(), from: from + kept, count });
        }
    };
    match value {
        Value::Array(items) => {
            let are_rows = items.iter().any(|item| item.is_object() || item.is_array() && items.len() > TOGETHER);
            let kept = if are_rows { limits.rows } else { limits.rows.max(TOGETHER) };
            leave_out(kept.min(items.len()), items.len());
            let items = items.iter().enumerate().skip(from).take(kept);
            items.map(|(at, item)| cut(item, 0, &format!("{pointer}/{at}"), limits, left_out)).collect()
        }
        Value::Object(members) => {
            // Many members are a table by name.
            let kept =
                limits.members.min(if members.len() > TOGETHER { limits.rows.max(TOGETHER) } else { usize::MAX });
            leave_out(kept.min(members.len()), members.len());
            let members = members.iter().skip(from).take(kept);
            let member = |(name, member): (&String, &Value)| {
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                (name.clone(), cut(member, 0, &pointer, limits, left_out))
            };
            Value::Object(members.map(member).collect())
        }
        Value::String(text) if text.len() > limits.text => Value::String(format!("{}…", start(text, limits.text))),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rows: usize) -> Value {
        let row = |at: usize| json!({"name": format!("kernel {at}"), "shape": [[4, 4096], [4096, 128]], "ms": at});
        json!({"verdict": "slow", "rows": (0..rows).map(row).collect::<Vec<_>>(), "parts": {"a/b": [1, 2]}})
    }

    #[test]
    fn an_answer_that_fits_is_whole() {
        assert_eq!(json(&report(3), None, 4096).unwrap(), json!({"answer": report(3)}).to_string());
        assert_eq!(text("a\nb\n", None, 512).unwrap(), "a\nb\n");
    }

    #[test]
    fn pages_put_together_are_the_whole_list() {
        let whole = report(1000);
        for most in [512, 700, 5000] {
            let mut page = None;
            let mut rows = Vec::new();
            loop {
                let answer = json(&whole, page.as_deref(), most).unwrap();
                assert!(answer.len() <= most);
                let answer: Value = serde_json::from_str(&answer).unwrap();
                let list = if page.is_none() { &answer["answer"]["rows"] } else { &answer["answer"] };
                rows.extend(list.as_array().unwrap().iter().cloned());
                let next = answer.get("more").map(|more| more[0]["page"].as_str().unwrap().to_owned());
                assert_eq!(next.is_none(), rows.len() == 1000);
                if let Some(next) = &next {
                    assert_eq!(*next, format!("/rows {}", rows.len()));
                    assert_eq!(answer["more"][0]["left_out"], 1000 - rows.len());
                }
                page = next;
                if page.is_none() {
                    break;
                }
            }
            assert_eq!(Value::Array(rows), whole["rows"]);
        }
    }

    #[test]
    fn shapes_are_not_cut_and_limits_always_hold() {
        let wide: Value =
            (0..500).map(|at| (format!("member {at}"), json!("x".repeat(300)))).collect::<Map<_, _>>().into();
        let deep = (0..40).fold(json!([1, 2]), |inner, _| json!([{"inner": inner}, {"other": "x".repeat(100)}]));
        for value in [wide, deep, json!("y".repeat(100_000)), json!(vec![vec![vec!["z"; 20]; 20]; 20])] {
            for most in [512, 1000, 20_000] {
                let answer = json(&value, None, most).unwrap();
                assert!(answer.len() <= most, "{} of {most}", answer.len());
                assert!(serde_json::from_str::<Value>(&answer).is_ok());
            }
        }
        let cut: Value = serde_json::from_str(&json(&report(50), None, 600).unwrap()).unwrap();
        assert_eq!(cut["answer"]["rows"][0]["shape"], json!([[4, 4096], [4096, 128]]));
        assert_eq!(cut["answer"]["verdict"], "slow");
    }

    #[test]
    fn lines_are_cut_whole_and_go_on() {
        let whole: String = (0..100).map(|at| format!("line of text {at}\n")).collect();
        let mut page = None;
        let mut lines = Vec::new();
        loop {
            let part = text(&whole, page.as_deref(), 512).unwrap();
            assert!(part.len() <= 512);
            let note = part.lines().last().filter(|line| line.starts_with('…'));
            lines.extend(part.lines().filter(|line| !line.starts_with('…')).map(str::to_owned));
            let Some(note) = note else { break };
            page = Some(note.split('"').nth(1).unwrap().to_owned());
        }
        assert_eq!(lines.join("\n") + "\n", whole);
        assert!(text(&"é".repeat(1000), None, 512).unwrap().len() <= 512);
    }

    #[test]
    fn other_pages_are_refused() {
        for page in ["", "line 4", "/no 0", "/rows", "/rows -1", "line x"] {
            assert!(json(&report(3), Some(page), 512).is_err(), "{page}");
        }
        assert!(text("a\n", Some("line 1"), 512).is_err());
        assert!(text("a\n", Some("/rows 0"), 512).is_err());
    }
}
