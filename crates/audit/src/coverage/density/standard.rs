//! The file of density rules.

use super::spacing::{Limit, Rule, Segment};
use indexmap::IndexMap;
use perfdb_pycompat::yaml::{self, Key, Map, Node};
use std::path::{Path, PathBuf};

/// What a database should be measured by.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    /// Its name: `v1`.
    pub version: String,
    grids: IndexMap<String, Rule>,
    aliases: IndexMap<String, String>,
    template_axes: IndexMap<String, IndexMap<String, Axis>>,
    communication: IndexMap<String, Rule>,
}

#[derive(Debug, Clone, PartialEq)]
enum Axis {
    Own(Rule),
    Grid(String),
}

/// Why a file of rules, or of ranges, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}{reason}", path.display(), if key.is_empty() { String::new() } else { format!("{key}: ") })]
pub struct Malformed {
    pub path: PathBuf,
    /// The path of the key, `grids.M_GRID.segments[2].min`; empty for the file as a whole.
    pub key: String,
    /// What is wrong.
    pub reason: String,
}

/// The key and what is wrong with it.
pub(super) type Problem = (String, String);
type Result<T> = std::result::Result<T, Problem>;

const V1: &str = include_str!("v1.yaml");

impl Standard {
    /// The rules that come with the program.
    pub fn v1() -> Standard {
        match Standard::parse(Path::new("v1.yaml"), V1) {
            Ok(standard) => standard,
            // A test reads the same text.
            Err(error) => unreachable!("the built-in rules are valid: {error}"),
        }
    }

    /// Checks the text of a file of rules; `path` is for messages.
    ///
    /// # Errors
    /// The first key that is not as it should be: segments with holes or overlaps, both or none of gap and ratio, unknown names.
    pub fn parse(path: &Path, text: &str) -> std::result::Result<Standard, Malformed> {
        let malformed = |(key, reason): Problem| Malformed { path: path.to_owned(), key, reason };
        let node = yaml::parse(text).map_err(|error| malformed((String::new(), error.to_string())))?;
        standard(&node).map_err(malformed)
    }

    /// The rule of a grid, by its name or an alias.
    pub fn grid(&self, name: &str) -> Option<&Rule> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.grids.get(name)
    }

    /// The rule that a template has for an axis of its own.
    pub(crate) fn template_axis(&self, template: &str, axis: &str) -> Option<&Rule> {
        match self.template_axes.get(template)?.get(axis)? {
            Axis::Own(rule) => Some(rule),
            Axis::Grid(name) => self.grid(name),
        }
    }

    /// The rule of an axis of collectives.
    pub(crate) fn communication_axis(&self, axis: &str) -> Option<&Rule> {
        self.communication.get(axis)
    }

    /// The grids that have a rule of their own, and those of the aliases.
    pub fn grids(&self) -> impl Iterator<Item = &str> {
        self.grids.keys().map(String::as_str)
    }

    /// The name that a grid has its rule under.
    pub fn resolved<'s>(&'s self, name: &'s str) -> &'s str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// Templates with axes of their own, and the grid that each of these follows, if it does.
    pub(crate) fn template_axes(&self) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
        self.template_axes.iter().flat_map(|(template, axes)| {
            axes.iter().map(move |(axis, rule)| {
                let grid = match rule {
                    Axis::Own(_) => None,
                    Axis::Grid(name) => Some(name.as_str()),
                };
                (template.as_str(), axis.as_str(), grid)
            })
        })
    }

    /// The axes of collectives that have a rule.
    pub(crate) fn communication_axes(&self) -> impl Iterator<Item = &str> {
        self.communication.keys().map(String::as_str)
    }
}

fn problem<T>(key: impl Into<String>, reason: impl Into<String>) -> Result<T> {
    Err((key.into(), reason.into()))
}

fn below(key: &str, part: impl std::fmt::Display) -> String {
    if key.is_empty() { part.to_string() } else { format!("{key}.{part}") }
}

/// A map whose keys are all known.
pub(super) fn map<'n>(node: &'n Node, key: &str, known: &[&str]) -> Result<&'n Map> {
    let Some(map) = node.as_map() else { return problem(key, format!("must be a map, not {}", node.kind())) };
    for (name, _) in map.iter() {
        if !matches!(name, Key::Text(name) if known.is_empty() || known.contains(&name.as_str())) {
            return problem(below(key, name), "unknown key");
        }
    }
    Ok(map)
}

pub(super) fn integer(node: &Node, key: &str) -> Result<i64> {
    match node {
        Node::Integer(value) => i64::try_from(*value).or_else(|_| problem(key, "out of range")),
        other => problem(key, format!("must be an integer, not {}", other.kind())),
    }
}

fn standard(node: &Node) -> Result<Standard> {
    const KEYS: [&str; 7] =
        ["schema_version", "standard_version", "policy", "grids", "aliases", "template_axes", "communication_axes"];
    let file = map(node, "", &KEYS)?;
    let present = |key: &'static str| file.get(key).ok_or((key.to_owned(), "missing".to_owned()));
    if present("schema_version")? != &Node::Integer(1) {
        return problem("schema_version", "only 1 is known");
    }
    let version = match present("standard_version")? {
        Node::Text(text) => text.clone(),
        other => return problem("standard_version", format!("must be a text, not {}", other.kind())),
    };
    if present("policy")?.as_text() != Some("minimum") {
        return problem("policy", "only 'minimum' is known");
    }
    let grids = rules(present("grids")?, "grids")?;
    let mut aliases = IndexMap::new();
    for (alias, node) in
        file.get("aliases").map(|node| map(node, "aliases", &[])).transpose()?.into_iter().flat_map(Map::iter)
    {
        let key = below("aliases", alias);
        match node.as_text().filter(|name| grids.contains_key(*name)) {
            Some(name) => aliases.insert(alias.to_string(), name.to_owned()),
            None => return problem(key, "names no grid"),
        };
    }
    let mut template_axes = IndexMap::new();
    let templates = file.get("template_axes").map(|node| map(node, "template_axes", &[])).transpose()?;
    for (template, node) in templates.into_iter().flat_map(Map::iter) {
        let key = below("template_axes", template);
        let mut axes = IndexMap::new();
        for (axis, node) in map(node, &key, &[])?.iter() {
            let key = below(&key, axis);
            let used = node.as_map().and_then(|map| map.get("use"));
            let rule = match used {
                None => Axis::Own(rule(node, &key)?),
                Some(name) => {
                    map(node, &key, &["use"])?;
                    let known = |name: &&str| grids.contains_key(*name) || aliases.contains_key(*name);
                    match name.as_text().filter(known) {
                        Some(name) => Axis::Grid(name.to_owned()),
                        None => return problem(below(&key, "use"), "names no grid"),
                    }
                }
            };
            axes.insert(axis.to_string(), rule);
        }
        template_axes.insert(template.to_string(), axes);
    }
    let communication = match file.get("communication_axes") {
        Some(node) => rules(node, "communication_axes")?,
        None => IndexMap::new(),
    };
    Ok(Standard { version, grids, aliases, template_axes, communication })
}

fn rules(node: &Node, key: &str) -> Result<IndexMap<String, Rule>> {
    let entries = map(node, key, &[])?.iter();
    entries.map(|(name, node)| Ok((name.to_string(), rule(node, &below(key, name))?))).collect()
}

fn rule(node: &Node, key: &str) -> Result<Rule> {
    let fields = map(node, key, &["range", "segments", "max_gap", "max_ratio", "required_values"])?;
    let range = fields.get("range").map(|node| range(node, &below(key, "range"))).transpose()?;
    let whole = limit(fields, key)?;
    let segments = match (fields.get("segments"), whole, range) {
        (Some(_), Some(_), _) => {
            return problem(below(key, "segments"), "there is a limit for the whole range as well");
        }
        (Some(_), None, None) | (None, Some(_), None) => return problem(below(key, "range"), "missing"),
        (Some(node), None, Some(range)) => segments(node, &below(key, "segments"), range)?,
        (None, Some(limit), Some(range)) => vec![Segment { range, limit }],
        (None, None, _) => Vec::new(),
    };
    let mut required: Vec<i64> = Vec::new();
    if let Some(node) = fields.get("required_values") {
        let key = below(key, "required_values");
        let Some(items) = node.as_list() else { return problem(key, format!("must be a list, not {}", node.kind())) };
        for (at, item) in items.iter().enumerate() {
            let key = format!("{key}[{at}]");
            let value = integer(item, &key)?;
            if required.last().is_some_and(|before| *before >= value) {
                return problem(key, format!("{value} does not come after the value before"));
            }
            if range.is_some_and(|[first, last]| value < first || value > last) {
                return problem(key, format!("{value} lies outside the range"));
            }
            required.push(value);
        }
    }
    if segments.is_empty() && required.is_empty() {
        return problem(key, "asks for nothing");
    }
    Ok(Rule { range, segments, required })
}

fn range(node: &Node, key: &str) -> Result<[i64; 2]> {
    let fields = map(node, key, &["min", "max"])?;
    let bound = |name: &str| match fields.get(name) {
        Some(node) => integer(node, &below(key, name)),
        None => problem(below(key, name), "missing"),
    };
    let (first, last) = (bound("min")?, bound("max")?);
    if first > last { problem(key, format!("{first} is above {last}")) } else { Ok([first, last]) }
}

fn segments(node: &Node, key: &str, [first, last]: [i64; 2]) -> Result<Vec<Segment>> {
    let Some(items) = node.as_list().filter(|items| !items.is_empty()) else {
        return problem(key, "must be a list of segments");
    };
    let mut segments: Vec<Segment> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let key = format!("{key}[{at}]");
        let fields = map(item, &key, &["min", "max", "max_gap", "max_ratio"])?;
        let bound = |name: &str| match fields.get(name) {
            Some(node) => integer(node, &below(&key, name)),
            None => problem(below(&key, name), "missing"),
        };
        let own = [bound("min")?, bound("max")?];
        let begins = segments.last().map_or(first, |before| before.range[1] + 1);
        if own[0] != begins {
            let what = if own[0] > begins { "a hole" } else { "an overlap" };
            return problem(below(&key, "min"), format!("{} leaves {what}: it must be {begins}", own[0]));
        }
        if own[1] < own[0] {
            return problem(below(&key, "max"), format!("{} is below {}", own[1], own[0]));
        }
        let Some(limit) = limit(fields, &key)? else { return problem(&*key, "needs max_gap or max_ratio") };
        segments.push(Segment { range: own, limit });
    }
    match segments.last() {
        Some(end) if end.range[1] != last => problem(
            format!("{key}[{}].max", segments.len() - 1),
            format!("{} is not the end of the range, {last}", end.range[1]),
        ),
        _ => Ok(segments),
    }
}

fn limit(fields: &Map, key: &str) -> Result<Option<Limit>> {
    match (fields.get("max_gap"), fields.get("max_ratio")) {
        (Some(_), Some(_)) => problem(below(key, "max_ratio"), "there is a max_gap as well"),
        (Some(node), None) => match integer(node, &below(key, "max_gap"))? {
            gap if gap >= 1 => Ok(Some(Limit::Gap(gap))),
            _ => problem(below(key, "max_gap"), "must be 1 or more"),
        },
        (None, Some(node)) => {
            let ratio = match node {
                Node::Integer(value) => *value as f64,
                Node::Float(value) => *value,
                other => return problem(below(key, "max_ratio"), format!("must be a number, not {}", other.kind())),
            };
            let thousandths = (ratio * 1000.0).round();
            if thousandths > 1000.0 && thousandths < 1e15 && (thousandths - ratio * 1000.0).abs() < 1e-6 {
                Ok(Some(Limit::Ratio(thousandths as i64)))
            } else {
                problem(below(key, "max_ratio"), "must be above 1, with at most three decimals")
            }
        }
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::density::Hole;
    use perfdb_grid::grids;
    use std::collections::BTreeSet;

    fn values(name: &str) -> BTreeSet<i64> {
        grids::named(name).into_iter().flatten().map(|value| *value as i64).collect()
    }

    fn whole(rule: &Rule) -> [i64; 2] {
        rule.range.unwrap_or([i64::MIN, i64::MAX])
    }

    fn holes_without(name: &str, removed: i64) -> Vec<Hole> {
        let standard = Standard::v1();
        let rule = standard.grid(name).expect("a grid with a rule");
        let mut values = values(name);
        assert!(values.remove(&removed), "{name} has no {removed}");
        rule.holes(whole(rule), &values)
    }

    #[test]
    fn the_generators_grids_are_dense_enough() {
        let standard = Standard::v1();
        for name in grids::names() {
            let rule = standard.grid(name).expect("a rule for every grid");
            assert_eq!(rule.holes(whole(rule), &values(name)), [], "{name}");
        }
    }

    #[test]
    fn a_value_less_is_one_hole() {
        for value in [2, 3, 4, 5, 6, 7, 8, 10, 12, 14] {
            let holes = holes_without("M_GRID", value);
            assert!(matches!(holes[..], [Hole::TooWide { .. }]), "{value}: {holes:?}");
        }
        let expected = Hole::TooWide { from: 12, to: 16, limit: Limit::Gap(2), repair: 14 };
        assert_eq!(holes_without("M_GRID", 14), [expected]);
        assert_eq!(holes_without("M_GRID", 1), [Hole::End(1)]);
        for value in values("PAD_TOKENS_GRID") {
            assert_eq!(holes_without("PAD_TOKENS_GRID", value), [Hole::Required(value)]);
        }
        for value in values("NK_GRID").into_iter().skip(1) {
            let holes = holes_without("NK_GRID", value);
            let required = holes.iter().filter(|hole| **hole == Hole::Required(value)).count();
            assert_eq!(required, 1, "{holes:?}");
            assert!(holes.iter().all(|hole| hole.repair() == value), "{holes:?}");
        }
        assert_eq!(holes_without("NK_GRID", 192), [Hole::Required(192)]);
        assert_eq!(holes_without("NK_GRID", 640).len(), 2);
    }

    #[test]
    fn a_ratio_is_exact() {
        let rule = Rule {
            range: Some([1, 100]),
            segments: vec![Segment { range: [1, 100], limit: Limit::Ratio(1250) }],
            required: vec![],
        };
        let holes =
            |values: &[i64]| rule.holes([values[0], values[values.len() - 1]], &values.iter().copied().collect());
        assert_eq!(holes(&[16, 20, 25]), []);
        let expected = Hole::TooWide { from: 16, to: 21, limit: Limit::Ratio(1250), repair: 20 };
        assert_eq!(holes(&[16, 21]), [expected]);
        // A limit that allows nothing in between is repaired by the next value.
        assert_eq!(holes(&[1, 3]).iter().map(|hole| hole.repair()).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        let file = |grid: &str| {
            let text = format!("schema_version: 1\nstandard_version: x\npolicy: minimum\ngrids: {{G: {grid}}}\n");
            Standard::parse(Path::new("d.yaml"), &text).map(|_| ()).map_err(|error| error.to_string())
        };
        let range = "range: {min: 1, max: 20}";
        assert_eq!(file(&format!("{{{range}, max_gap: 2}}")), Ok(()));
        for (grid, error) in [
            (
                format!("{{{range}, segments: [{{min: 1, max: 8, max_gap: 1}}, {{min: 10, max: 20, max_gap: 2}}]}}"),
                "grids.G.segments[1].min: 10 leaves a hole: it must be 9",
            ),
            (
                format!("{{{range}, segments: [{{min: 1, max: 8, max_gap: 1}}, {{min: 8, max: 20, max_gap: 2}}]}}"),
                "grids.G.segments[1].min: 8 leaves an overlap: it must be 9",
            ),
            (
                format!("{{{range}, segments: [{{min: 1, max: 8, max_gap: 1}}]}}"),
                "grids.G.segments[0].max: 8 is not the end of the range, 20",
            ),
            (format!("{{{range}, max_gap: 2, max_ratio: 2}}"), "grids.G.max_ratio: there is a max_gap as well"),
            (format!("{{{range}, max_ratio: 1}}"), "grids.G.max_ratio: must be above 1, with at most three decimals"),
            (
                format!("{{{range}, required_values: [3, 3]}}"),
                "grids.G.required_values[1]: 3 does not come after the value before",
            ),
            (format!("{{{range}, required_values: [30]}}"), "grids.G.required_values[0]: 30 lies outside the range"),
            ("{max_gap: 2}".to_owned(), "grids.G.range: missing"),
            ("{rang: 2}".to_owned(), "grids.G.rang: unknown key"),
        ] {
            assert_eq!(file(&grid), Err(format!("d.yaml: {error}")));
        }
        let text =
            "schema_version: 1\nstandard_version: x\npolicy: minimum\ngrids: {}\ntemplate_axes: {t: {a: {use: G}}}\n";
        let error = Standard::parse(Path::new("d.yaml"), text).expect_err("no such grid");
        assert_eq!(error.to_string(), "d.yaml: template_axes.t.a.use: names no grid");
    }
}
