//! Terms of the default class table on kernel names.

/// A row of a table, taken apart: alternatives, of each the terms that must hold.
pub(super) struct Terms(Vec<Vec<Term>>);

/// One term.
struct Term {
    text: &'static str,
    /// Whether it must not hold.
    is_not: bool,
    place: Place,
}

/// Where a term stands in a name.
#[derive(Clone, Copy)]
enum Place {
    Start,
    /// Anywhere; whether a word begins in front of it, and whether one ends behind it.
    Anywhere {
        before: bool,
        behind: bool,
    },
}

impl Terms {
    pub(super) fn of(alternatives: &'static str) -> Terms {
        let there = alternatives.split("  ").filter(|alternative| !alternative.is_empty());
        Terms(there.map(|alternative| alternative.split(' ').map(Term::of).collect()).collect())
    }
}

impl Term {
    fn of(term: &'static str) -> Term {
        let (is_not, term) = term.strip_prefix('!').map_or((false, term), |term| (true, term));
        if let Some(text) = term.strip_prefix('^') {
            return Term { text, is_not, place: Place::Start };
        }
        let (before, term) = term.strip_prefix('|').map_or((false, term), |term| (true, term));
        let (behind, text) = term.strip_suffix('|').map_or((false, term), |term| (true, term));
        Term { text, is_not, place: Place::Anywhere { before, behind } }
    }
}

/// A name, in lower case and as it stands.
pub(super) struct Subject<'a> {
    name: &'a str,
    lower: String,
    pairs: Pairs,
}

/// A bit for each two bytes that follow each other in a text, folded to 4,096: most terms have two that do not.
struct Pairs([u64; 64]);

impl Pairs {
    fn of(text: &str) -> Pairs {
        let mut pairs = Pairs([0; 64]);
        for pair in text.as_bytes().windows(2) {
            let (word, bit) = Pairs::place(pair);
            pairs.0[word] |= bit;
        }
        pairs
    }

    /// False where the text does not contain `term`.
    fn may_contain(&self, term: &str) -> bool {
        term.as_bytes().windows(2).all(|pair| {
            let (word, bit) = Pairs::place(pair);
            self.0[word] & bit != 0
        })
    }

    fn place(pair: &[u8]) -> (usize, u64) {
        let place = pair.iter().fold(0, |place, byte| place * 37 + usize::from(*byte));
        (place / 64 % 64, 1 << (place % 64))
    }
}

impl<'a> Subject<'a> {
    pub(super) fn new(name: &'a str) -> Subject<'a> {
        // Letters beyond ASCII keep their length this way.
        let lower = name.to_ascii_lowercase();
        Subject { name, pairs: Pairs::of(&lower), lower }
    }

    /// Whether any alternative holds.
    pub(super) fn matches(&self, terms: &Terms) -> bool {
        terms.0.iter().any(|alternative| alternative.iter().all(|term| self.holds(term) != term.is_not))
    }

    fn holds(&self, term: &Term) -> bool {
        let (before, behind) = match term.place {
            Place::Start => return self.lower.starts_with(term.text),
            Place::Anywhere { before, behind } => (before, behind),
        };
        let term = term.text;
        if !self.pairs.may_contain(term) {
            return false;
        }
        if !before && !behind {
            return self.lower.contains(term);
        }
        // Matches may overlap: look on from one byte further.
        let mut from = 0;
        while let Some(at) = self.lower.get(from..).and_then(|rest| rest.find(term)) {
            let at = from + at;
            if (!before || self.is_boundary(at)) && (!behind || self.is_boundary(at + term.len())) {
                return true;
            }
            from = at + 1;
            while !self.lower.is_char_boundary(from) {
                from += 1;
            }
        }
        false
    }

    /// Whether a word begins or ends at a place: beside anything that is not a letter or digit, in `aB`, before `B` in `ABc`,
    /// and where letters change to digits or back.
    fn is_boundary(&self, at: usize) -> bool {
        let bytes = self.name.as_bytes();
        let (Some(before), Some(behind)) = (at.checked_sub(1).and_then(|before| bytes.get(before)), bytes.get(at))
        else {
            return true;
        };
        if !before.is_ascii_alphanumeric() || !behind.is_ascii_alphanumeric() {
            return true;
        }
        let next_is_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        (before.is_ascii_lowercase() && behind.is_ascii_uppercase())
            || (before.is_ascii_uppercase() && behind.is_ascii_uppercase() && next_is_small)
            || before.is_ascii_digit() != behind.is_ascii_digit()
    }
}

/// What stands outside of template arguments, up to the first parenthesis; of mangled names the nested name.
pub(super) fn head(name: &str) -> String {
    if let Some(mangled) = name.strip_prefix("_Z")
        && let Some(head) = mangled_head(mangled)
    {
        return head;
    }
    let mut rest = name.trim_start();
    loop {
        if let Some(behind) = rest.strip_prefix("void ") {
            rest = behind.trim_start();
        } else if let Some(behind) = enable_if(rest) {
            rest = behind.trim_start();
        } else {
            break;
        }
    }
    let rest = rest.replace("(anonymous namespace)::", "");
    let (mut head, mut depth) = (String::with_capacity(rest.len()), 0_usize);
    for character in rest.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => break,
            _ if depth == 0 => head.push(character),
            _ => {}
        }
    }
    head
}

/// What follows `std::enable_if<…>::type `. Inside parentheses `>` compares: `std::enable_if<((8)>(0)), void>::type `.
fn enable_if(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("std::enable_if<")?;
    let (mut depth, mut parentheses) = (1_usize, 0_usize);
    for (at, character) in rest.char_indices() {
        match character {
            '(' => parentheses += 1,
            ')' => parentheses = parentheses.saturating_sub(1),
            '<' if parentheses == 0 => depth += 1,
            '>' if parentheses == 0 => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return rest[at + 1..].strip_prefix("::type ");
        }
    }
    None
}

/// The identifiers of a mangled name up to the first that is followed by template arguments or the end of its nesting.
fn mangled_head(mangled: &str) -> Option<String> {
    let mut rest = mangled.trim_start_matches(['N', 'K', 'L', 'V', 'r']);
    let mut identifiers: Vec<&str> = Vec::new();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        let Ok(length) = rest[..digits].parse::<usize>() else { break };
        let Some(identifier) = rest.get(digits..digits + length) else { break };
        rest = &rest[digits + length..];
        if !identifier.starts_with("_GLOBAL__N") {
            identifiers.push(identifier);
        }
        if rest.starts_with(['I', 'E']) {
            break;
        }
    }
    (!identifiers.is_empty()).then(|| identifiers.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_case_digits_or_signs_change() {
        for (name, term, expected) in [
            ("fbgemm_kernel", "|gemm", false),
            ("bf16gemm", "|gemm", true),
            ("CublasGemmEx", "|gemm|", true),
            ("HGEMMKernel", "gemm|", true),
            ("SubTensorOp", "|tensorop", true),
            ("reluKernel", "|relu|", true),
            ("prelu", "|relu", false),
            ("moe_gemm", "|moe |gemm", true),
            ("ncclKernel", "^nccl", true),
            ("xncclKernel", "^nccl", false),
            ("a_b", "a !b", false),
            ("gemm x_gemm", "|gemm|", true),
            ("ägemm", "|gemm", true),
        ] {
            assert_eq!(Subject::new(name).matches(&Terms::of(term)), expected, "{name} {term}");
        }
    }

    #[test]
    fn heads_are_outside_of_template_arguments() {
        for (name, expected) in [
            ("void flash::fwd<Traits<128>, true>(Params)", "flash::fwd"),
            ("void at::native::(anonymous namespace)::f<int>(int)", "at::native::f"),
            ("std::enable_if<!a<b>::value, void>::type rope<half>(int)", "rope"),
            (
                "std::enable_if<(((8)>(0)))&&_typeConvert<c10::Half>::exists, void>::type vllm::rms_norm<c10::Half, 8>(c10::Half*)",
                "vllm::rms_norm",
            ),
            ("Cijk_Alik_Bljk", "Cijk_Alik_Bljk"),
            ("_ZN7cutlass6KernelI4GemmEEvv", "cutlass::Kernel"),
            ("_ZN5aiter12_GLOBAL__N_14normEv", "aiter::norm"),
            ("_Z9my_kernelPfS_", "my_kernel"),
            ("_Zoo", "_Zoo"),
        ] {
            assert_eq!(head(name), expected, "{name}");
        }
    }
}
