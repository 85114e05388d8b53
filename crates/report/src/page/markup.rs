//! Pieces of HTML and SVG with the texts in them escaped.

/// A text inside an element or an attribute; control characters are left to the whole page.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_escaped(&mut out, text);
    out
}

pub(crate) fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
}

/// JSON that can stand in a `script` element: nothing in it ends the element or begins a comment.
pub(crate) fn embedded_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            // Control characters that are no line ends for JSON, but for others.
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out
}

/// The first characters of a name, with a mark if that is not all.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some(_) => text.chars().take(characters.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// The side of a text at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG picture while it is drawn. Coordinates are in its own units, with one decimal.
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    /// A picture; `label` says what it shows to those who do not see it.
    pub(crate) fn new(class: &str, width: f64, height: f64, label: &str) -> Svg {
        let mut svg = Svg { out: String::from("<svg class=\"") };
        svg.out.push_str(class);
        svg.out.push_str("\" viewBox=\"0 0 ");
        svg.number(width);
        svg.out.push(' ');
        svg.number(height);
        svg.out.push_str("\" role=\"img\" aria-label=\"");
        push_escaped(&mut svg.out, label);
        svg.out.push_str("\">");
        svg
    }

    /// A number that JSON, SVG and CSS read; what is not finite is 0.
    fn number(&mut self, value: f64) {
        let text = format!("{:.1}", if value.is_finite() { value } else { 0.0 });
        self.out.push_str(text.strip_suffix(".0").unwrap_or(&text));
    }

    fn attribute(&mut self, name: &str, value: f64) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        self.number(value);
        self.out.push('"');
    }

    fn open(&mut self, element: &str, class: &str) {
        self.out.push('<');
        self.out.push_str(element);
        self.out.push_str(" class=\"");
        self.out.push_str(class);
        self.out.push('"');
    }

    /// Ends an element that shows `title` when it is pointed at.
    fn close(&mut self, element: &str, title: &str) {
        if title.is_empty() {
            self.out.push_str("/>");
            return;
        }
        self.out.push_str("><title>");
        push_escaped(&mut self.out, title);
        self.out.push_str("</title></");
        self.out.push_str(element);
        self.out.push('>');
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.open("line", class);
        for (name, value) in [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)] {
            self.attribute(name, value);
        }
        self.out.push_str("/>");
    }

    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), title: &str) {
        self.open("rect", class);
        for (name, value) in [("x", corner.0), ("y", corner.1), ("width", size.0), ("height", size.1)] {
            self.attribute(name, value);
        }
        self.close("rect", title);
    }

    /// A circle that leads to a row of the table that the chart names.
    pub(crate) fn point(&mut self, class: &str, at: (f64, f64), radius: f64, row: Option<usize>, title: &str) {
        self.open("circle", class);
        for (name, value) in [("cx", at.0), ("cy", at.1), ("r", radius)] {
            self.attribute(name, value);
        }
        if let Some(row) = row {
            self.attribute("data-row", row as f64);
        }
        self.close("circle", title);
    }

    pub(crate) fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        self.shape("polygon", class, points);
    }

    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        self.shape("polyline", class, points);
    }

    fn shape(&mut self, element: &str, class: &str, points: &[(f64, f64)]) {
        self.open(element, class);
        self.out.push_str(" points=\"");
        for (at, point) in points.iter().enumerate() {
            if at > 0 {
                self.out.push(' ');
            }
            self.number(point.0);
            self.out.push(',');
            self.number(point.1);
        }
        self.out.push_str("\"/>");
    }

    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        self.open("text", class);
        self.attribute("x", at.0);
        self.attribute("y", at.1);
        self.out.push_str(match anchor {
            Anchor::Start => ">",
            Anchor::Middle => " text-anchor=\"middle\">",
            Anchor::End => " text-anchor=\"end\">",
        });
        push_escaped(&mut self.out, text);
        self.out.push_str("</text>");
    }

    pub(crate) fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn data_never_ends_its_element(text in "[<>&/!\\-\u{2028}\u{85}scriptSCRIPT]{0,40}") {
            let json = serde_json::to_string(&text).unwrap();
            let embedded = embedded_json(&json);
            let dangerous = ['<', '>', '&', '\u{2028}', '\u{85}'];
            prop_assert!(!embedded.contains(dangerous));
            prop_assert_eq!(serde_json::from_str::<String>(&embedded).unwrap(), text);
        }

        #[test]
        fn texts_are_no_markup(text in ".{0,40}") {
            let escaped = escape(&text);
            let markup = ['<', '>', '"', '\''];
            prop_assert!(!escaped.contains(markup));
        }
    }

    #[test]
    fn names_are_shortened_by_characters() {
        assert_eq!(shortened("算子算子", 3), "算子…");
        assert_eq!(shortened("abc", 3), "abc");
    }
}
