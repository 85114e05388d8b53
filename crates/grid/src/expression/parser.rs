//! From words to steps, one function per level of precedence.

use super::number::Number;
use super::program::{Binary, Comparison, Step, Unary};
use super::token::{Token, tokens};
use super::{Meaning, Scope, SyntaxError};

/// How deep parentheses, signs, `not`, `**` and `else` may nest.
const DEEPEST: usize = 200;

/// The words that name no variable: those of the language, and those that look like ones of it but are refused.
pub(super) const RESERVED: [&str; 14] =
    ["if", "else", "and", "or", "not", "True", "False", "None", "is", "in", "lambda", "for", "await", "yield"];

/// The functions of the language.
pub(super) const FUNCTIONS: [&str; 4] = ["max", "min", "abs", "align"];

type Steps = Vec<Step>;
type Result<T> = std::result::Result<T, SyntaxError>;

/// Compiles `text` with the names that `scope` knows.
pub(super) fn compile(text: &str, scope: &Scope) -> Result<Steps> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0, scope };
    if parser.peek() == Token::End {
        return Err(SyntaxError::Empty);
    }
    let steps = parser.expression()?;
    if parser.peek() == Token::End { Ok(steps) } else { Err(parser.unexpected()) }
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
    depth: usize,
    scope: &'a Scope,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.next).copied().unwrap_or(Token::End)
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(text) if text == symbol);
        self.next += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Name(text) if text == word);
        self.next += usize::from(found);
        found
    }

    fn unexpected(&self) -> SyntaxError {
        match self.peek() {
            Token::Integer(integer) => SyntaxError::Unexpected(integer.to_string()),
            Token::Name(name) => SyntaxError::Unexpected(name.to_owned()),
            Token::Symbol(symbol) => SyntaxError::Unexpected(symbol.to_owned()),
            Token::End => SyntaxError::Incomplete,
        }
    }

    fn require_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Runs a level that can contain itself.
    fn nested(&mut self, level: impl FnOnce(&mut Self) -> Result<Steps>) -> Result<Steps> {
        if self.depth == DEEPEST {
            return Err(SyntaxError::TooDeep);
        }
        self.depth += 1;
        let steps = level(self)?;
        self.depth -= 1;
        Ok(steps)
    }

    fn expression(&mut self) -> Result<Steps> {
        let mut chosen = self.disjunction()?;
        if !self.take_word("if") {
            return Ok(chosen);
        }
        let mut steps = self.disjunction()?;
        if !self.take_word("else") {
            return Err(self.unexpected());
        }
        let otherwise = self.nested(Self::expression)?;
        steps.push(Step::JumpIfZero(chosen.len() + 1));
        steps.append(&mut chosen);
        steps.push(Step::Jump(otherwise.len()));
        steps.extend(otherwise);
        Ok(steps)
    }

    fn disjunction(&mut self) -> Result<Steps> {
        let mut steps = self.conjunction()?;
        while self.take_word("or") {
            let right = self.conjunction()?;
            steps.push(Step::Or(right.len()));
            steps.extend(right);
        }
        Ok(steps)
    }

    fn conjunction(&mut self) -> Result<Steps> {
        let mut steps = self.negation()?;
        while self.take_word("and") {
            let right = self.negation()?;
            steps.push(Step::And(right.len()));
            steps.extend(right);
        }
        Ok(steps)
    }

    fn negation(&mut self) -> Result<Steps> {
        if !self.take_word("not") {
            return self.comparison();
        }
        let mut steps = self.nested(Self::negation)?;
        steps.push(Step::Unary(Unary::Not));
        Ok(steps)
    }

    fn comparison(&mut self) -> Result<Steps> {
        let mut steps = self.sum()?;
        // A chain leaves at its first comparison that is false, with the jumps known once its end is.
        let mut links = Vec::new();
        let mut pending: Option<Comparison> = None;
        while let Some(comparison) = self.take_comparison() {
            if let Some(previous) = pending.replace(comparison) {
                links.push(steps.len());
                steps.push(Step::Chain(previous, 0));
            }
            steps.extend(self.sum()?);
        }
        if let Some(last) = pending {
            steps.push(Step::Compare(last));
        }
        let end = steps.len();
        for link in links {
            if let Some(Step::Chain(_, jump)) = steps.get_mut(link) {
                *jump = end - link - 1;
            }
        }
        Ok(steps)
    }

    fn take_comparison(&mut self) -> Option<Comparison> {
        let comparison = match self.peek() {
            Token::Symbol("<") => Comparison::Less,
            Token::Symbol("<=") => Comparison::LessOrEqual,
            Token::Symbol(">") => Comparison::Greater,
            Token::Symbol(">=") => Comparison::GreaterOrEqual,
            Token::Symbol("==") => Comparison::Equal,
            Token::Symbol("!=") => Comparison::NotEqual,
            _ => return None,
        };
        self.next += 1;
        Some(comparison)
    }

    fn sum(&mut self) -> Result<Steps> {
        let mut steps = self.product()?;
        loop {
            let operation = match self.peek() {
                Token::Symbol("+") => Binary::Add,
                Token::Symbol("-") => Binary::Subtract,
                _ => return Ok(steps),
            };
            self.next += 1;
            steps.extend(self.product()?);
            steps.push(Step::Binary(operation));
        }
    }

    fn product(&mut self) -> Result<Steps> {
        let mut steps = self.signed()?;
        loop {
            let operation = match self.peek() {
                Token::Symbol("*") => Binary::Multiply,
                Token::Symbol("/") => Binary::Divide,
                Token::Symbol("//") => Binary::FloorDivide,
                Token::Symbol("%") => Binary::Remainder,
                _ => return Ok(steps),
            };
            self.next += 1;
            steps.extend(self.signed()?);
            steps.push(Step::Binary(operation));
        }
    }

    fn signed(&mut self) -> Result<Steps> {
        if self.take_symbol("-") {
            let mut steps = self.nested(Self::signed)?;
            steps.push(Step::Unary(Unary::Negate));
            Ok(steps)
        } else if self.take_symbol("+") {
            self.nested(Self::signed)
        } else {
            self.power()
        }
    }

    fn power(&mut self) -> Result<Steps> {
        let mut steps = self.atom()?;
        if self.take_symbol("**") {
            // The right side takes a sign of its own: 2 ** -1.
            steps.extend(self.nested(Self::signed)?);
            steps.push(Step::Binary(Binary::Power));
        }
        Ok(steps)
    }

    fn atom(&mut self) -> Result<Steps> {
        match self.peek() {
            Token::Integer(integer) => {
                self.next += 1;
                Ok(vec![Step::Push(Number::Integer(integer))])
            }
            Token::Name(name) => {
                self.next += 1;
                if self.take_symbol("(") { self.call(name) } else { self.name(name) }
            }
            Token::Symbol("(") => {
                self.next += 1;
                let steps = self.nested(Self::expression)?;
                self.require_symbol(")")?;
                Ok(steps)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn name(&self, name: &str) -> Result<Steps> {
        match name {
            "True" | "False" => return Ok(vec![Step::Push(Number::from(name == "True"))]),
            _ if name.starts_with("__") || RESERVED.contains(&name) => {
                return Err(SyntaxError::Refused(name.to_owned()));
            }
            _ if FUNCTIONS.contains(&name) => return Err(SyntaxError::NotCalled(name.to_owned())),
            _ => {}
        }
        match self.scope.meaning(name) {
            Some(Meaning::Variable(slot)) => Ok(vec![Step::Load(slot)]),
            Some(Meaning::Constant(value)) => Ok(vec![Step::Push(Number::Integer(value))]),
            None => Err(SyntaxError::UnknownName(name.to_owned())),
        }
    }

    /// A call, its name and opening parenthesis being read.
    fn call(&mut self, name: &str) -> Result<Steps> {
        if !FUNCTIONS.contains(&name) {
            return Err(SyntaxError::NotAFunction(name.to_owned()));
        }
        let mut steps = Vec::new();
        let mut arguments = 0;
        while !self.take_symbol(")") {
            if arguments > 0 {
                self.require_symbol(",")?;
                if self.take_symbol(")") {
                    break;
                }
            }
            steps.extend(self.nested(Self::expression)?);
            arguments += 1;
            match name {
                "max" if arguments > 1 => steps.push(Step::Binary(Binary::Greatest)),
                "min" if arguments > 1 => steps.push(Step::Binary(Binary::Least)),
                _ => {}
            }
        }
        let (fits, needed) = match name {
            "abs" => (arguments == 1, "one value"),
            "align" => (arguments == 2, "two values"),
            _ => (arguments >= 2, "at least two values"),
        };
        if !fits {
            return Err(SyntaxError::Arguments { function: name.to_owned(), needed });
        }
        match name {
            "abs" => steps.push(Step::Unary(Unary::Absolute)),
            "align" => steps.push(Step::Binary(Binary::Align)),
            _ => {}
        }
        Ok(steps)
    }
}
