//! Whether shapes are those of a template, and for which values of its variables.

use super::Template;
use crate::slots::Slots;

impl Template {
    /// The variables, in the order in which values are given.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The grid of a variable: its iterator's, else that which stands in for the pairs of models.
    pub fn grid(&self, variable: &str) -> Option<&[i128]> {
        self.iterators.get(variable).or_else(|| self.fallback.get(variable)).map(Vec::as_slice)
    }

    /// The values of the variables for which the template has just these shapes, absent slots empty; `None` if there are none.
    ///
    /// Dimensions that are a variable, or one times a number, tell its value; all others are verified, and so are the constraints.
    ///
    /// ```
    /// use perfdb_grid::rules::{Pattern, RuleFile};
    ///
    /// let rules = RuleFile::built_in();
    /// let Some(Pattern::Template(gate)) = rules.pattern("swiglu") else { return };
    /// assert_eq!(gate.values_of(&[vec![16, 512]], &[vec![16, 256]]), Some(vec![16, 256]));
    /// assert_eq!(gate.values_of(&[vec![16, 512]], &[vec![16, 512]]), None);
    /// ```
    pub fn values_of(&self, inputs: &[Vec<i64>], outputs: &[Vec<i64>]) -> Option<Vec<i128>> {
        let sides = [(&self.inputs, inputs), (&self.outputs, outputs)];
        let mut values: Vec<Option<i128>> = vec![None; self.variables.len()];
        for (templates, shapes) in sides {
            let rank = |at: usize| shapes.get(at).map_or(0, Vec::len);
            let count = templates.len().max(shapes.len());
            if (0..count).any(|at| rank(at) != templates.get(at).map_or(0, |shape| shape.texts().count())) {
                return None;
            }
            for (template, shape) in templates.iter().zip(shapes) {
                for (text, dimension) in template.texts().zip(shape) {
                    let Some((variable, factor)) = self.variable_of(text) else { continue };
                    if values[variable].is_none() && i128::from(*dimension) % factor == 0 {
                        values[variable] = Some(i128::from(*dimension) / factor);
                    }
                }
            }
        }
        let values: Vec<i128> = values.into_iter().collect::<Option<_>>()?;
        let (found_inputs, found_outputs) = self.shapes_of(&values)?;
        let is_same = |slots: &Slots, shapes: &[Vec<i64>]| {
            (0..slots.len().max(shapes.len())).all(|at| {
                let own = slots.iter().nth(at).unwrap_or_default();
                let other = shapes.get(at).map_or(&[][..], Vec::as_slice);
                own.iter().copied().eq(other.iter().map(|dimension| i128::from(*dimension)))
            })
        };
        (is_same(&found_inputs, inputs) && is_same(&found_outputs, outputs)).then_some(values)
    }

    /// The shapes of inputs and outputs for values of the variables; `None` where a constraint does not hold or a dimension has no value.
    pub fn shapes_of(&self, values: &[i128]) -> Option<(Slots, Slots)> {
        let mut stack = Vec::new();
        for constraint in &self.constraints {
            if !constraint.expression.evaluate(values, &mut stack).ok()?.is_true() {
                return None;
            }
        }
        let mut sides = (Slots::default(), Slots::default());
        for (shapes, slots) in [(&self.inputs, &mut sides.0), (&self.outputs, &mut sides.1)] {
            for shape in shapes {
                shape.push_to(slots, values, &mut stack).ok()?;
            }
        }
        Some(sides)
    }

    /// The variable that a dimension tells, and what it is multiplied by.
    fn variable_of(&self, text: &str) -> Option<(usize, i128)> {
        let number = |name: &str| self.variables.iter().position(|variable| variable == name);
        let mut factors = text.split('*').map(str::trim);
        let first = number(factors.next()?)?;
        match (factors.next(), factors.next()) {
            (None, _) => Some((first, 1)),
            (Some(factor), None) => factor.parse().ok().filter(|factor| *factor > 0).map(|factor| (first, factor)),
            _ => None,
        }
    }
}
