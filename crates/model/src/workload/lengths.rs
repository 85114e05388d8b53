//! Lengths of the sequences of a forward pass, as servers annotate their steps.

/// Sums over the sequences of one kind in a forward pass: prompts that are read, or sequences that grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Lengths {
    /// Σ q: new tokens.
    pub queries: u64,
    /// Σ k: tokens that they may look at, themselves among them.
    pub keys: u64,
    /// Σ q².
    pub squares: u64,
    /// Σ q·k.
    pub products: u64,
}

impl Lengths {
    /// Whether there can be such sequences: none is shorter than what is new of it.
    fn is_possible(self) -> bool {
        self.keys >= self.queries && self.squares >= self.queries && self.products >= self.squares
    }
}

/// Lengths of all sequences of a forward pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BatchLengths {
    /// Prompts that are read, or pieces of them.
    pub context: Lengths,
    /// Sequences that grow, mostly by a token each.
    pub generation: Lengths,
}

impl BatchLengths {
    /// The lengths that the annotation of a step tells whole; `None` where it tells less than all sums:
    ///
    /// - `execute_3_context_1(sq7sk9sqsq49sqsk63)_generation_2(sq2sk9sqsq2sqsk9)` of vLLM
    /// - `step[MIXED bs=2 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]` of SGLang
    /// - `prefill[bs=1 tok=7 sqsq=49 sqsk=63 sk=9]` and `decode[bs=2 tok=2 d=2 sqsq=2 sqsk=9 sk=9]` of ATOM
    pub fn of_annotation(name: &str) -> Option<BatchLengths> {
        let lower = name.to_ascii_lowercase();
        let found = if lower.starts_with("execute_") {
            BatchLengths { context: in_letters(&lower, "context_")?, generation: in_letters(&lower, "generation_")? }
        } else {
            let (kind, rest) = lower.split_once('[')?;
            let values = rest.strip_suffix(']')?;
            match kind {
                "step" => BatchLengths { context: of_server(values, "c_")?, generation: of_server(values, "g_")? },
                "prefill" => BatchLengths { context: of_values(values, "tok", "")?, ..BatchLengths::default() },
                // Prompts among them are in the same sums.
                "decode" if value(values, "p").is_none() => {
                    BatchLengths { generation: of_values(values, "tok", "")?, ..BatchLengths::default() }
                }
                _ => return None,
            }
        };
        let is_possible = found.context.is_possible() && found.generation.is_possible() && found.queries() > 0;
        is_possible.then_some(found)
    }

    /// New tokens.
    pub fn queries(&self) -> u64 {
        self.context.queries.saturating_add(self.generation.queries)
    }

    /// Tokens that they may look at.
    pub fn keys(&self) -> u64 {
        self.context.keys.saturating_add(self.generation.keys)
    }

    /// Pairs of a new token and one that it sees: of what is new itself, a prompt sees half.
    pub fn pairs(&self) -> f64 {
        self.context.products as f64 - self.context.squares as f64 / 2.0 + self.generation.products as f64
    }
}

/// `sq7sk9sqsq49sqsk63` in the parentheses behind `word` and a number.
fn in_letters(name: &str, word: &str) -> Option<Lengths> {
    let (_, rest) = name.split_once(word)?;
    let (_, inside) = rest.split_once('(')?;
    let (mut inside, _) = inside.split_once(')')?;
    let mut next = |letters: &str| {
        let rest = inside.strip_prefix(letters)?;
        let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        inside = &rest[end..];
        rest[..end].parse().ok()
    };
    let found = Lengths { queries: next("sq")?, keys: next("sk")?, squares: next("sqsq")?, products: next("sqsk")? };
    inside.is_empty().then_some(found)
}

/// The sums with a prefix; all of one kind may be left out where the other kind is there.
fn of_server(values: &str, prefix: &str) -> Option<Lengths> {
    let has = |prefix: &str| value(values, &format!("{prefix}sq")).is_some();
    if !has(prefix) && (has("c_") || has("g_")) {
        return Some(Lengths::default());
    }
    of_values(values, &format!("{prefix}sq"), prefix)
}

fn of_values(values: &str, queries: &str, prefix: &str) -> Option<Lengths> {
    let sum = |key: &str| value(values, &format!("{prefix}{key}"));
    Some(Lengths { queries: value(values, queries)?, keys: sum("sk")?, squares: sum("sqsq")?, products: sum("sqsk")? })
}

/// The integer behind `key=`.
fn value(values: &str, key: &str) -> Option<u64> {
    let mut pairs = values.split_ascii_whitespace().filter_map(|word| word.split_once('='));
    pairs.find(|(found, _)| *found == key)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{BatchLengths, Lengths};

    fn lengths([queries, keys, squares, products]: [u64; 4]) -> Lengths {
        Lengths { queries, keys, squares, products }
    }

    #[test]
    fn every_server_is_understood() {
        let (prompt, two) = (lengths([7, 9, 49, 63]), lengths([2, 9, 2, 9]));
        let none = Lengths::default();
        for (name, context, generation) in [
            ("execute_9_context_1(sq7sk9sqsq49sqsk63)_generation_2(sq2sk9sqsq2sqsk9)", prompt, two),
            ("execute_2_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk9sqsq2sqsk9)", none, two),
            ("step[MIXED bs=3 c=1 g=2 c_sq=7 c_sk=9 c_sqsq=49 c_sqsk=63 g_sq=2 g_sk=9 g_sqsq=2 g_sqsk=9]", prompt, two),
            ("step[EXTEND bs=1 toks=7 c_sq=7 c_sqsq=49 c_sqsk=63 c_sk=9]", prompt, none),
            ("step[DECODE bs=2 g_sq=2 g_sqsq=2 g_sqsk=9 g_sk=9]", none, two),
            ("prefill[bs=1 tok=7 ctx=[7] sqsq=49 sqsk=63 sk=9]", prompt, none),
            ("decode[bs=2 tok=2 d=2 sqsq=2 sqsk=9 sk=9]", none, two),
        ] {
            assert_eq!(BatchLengths::of_annotation(name), Some(BatchLengths { context, generation }), "{name}");
        }
    }

    #[test]
    fn what_is_not_told_whole_is_not_known() {
        for name in [
            "execute_context_1(2048)_generation_0(0)",
            "execute_context_1(888_788544)_generation_0(0)",
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086",
            "execute_1_context_1(sq7sk5sqsq49sqsk63)_generation_0(sq0sk0sqsq0sqsk0)",
            "execute_0_context_0(sq0sk0sqsq0sqsk0)_generation_0(sq0sk0sqsq0sqsk0)",
            "step[DECODE bs=32]",
            "step[EXTEND bs=15 toks=15360]",
            "step[DECODE bs=2 g_sq=2 g_sqsq=2 g_sqsk=9]",
            "decode[bs=128 tok=384 p=2 d=126 sqsq=132612 sqsk=1114112 sk=258048]",
            "ProfilerStep#3",
        ] {
            assert_eq!(BatchLengths::of_annotation(name), None, "{name}");
        }
    }

    #[test]
    fn a_prompt_sees_half_of_itself_and_all_before_it() {
        let batch = BatchLengths { context: lengths([4, 10, 16, 40]), generation: lengths([2, 30, 2, 30]) };
        assert_eq!((batch.queries(), batch.keys(), batch.pairs()), (6, 40, 40.0 - 8.0 + 30.0));
    }
}
