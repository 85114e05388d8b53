//! Environment variables in the members of a trace that look like secrets. Only their names are kept.

use perfdb_pycompat::value::Value;

/// Top-level members that hold what a machine and its environment are.
pub(crate) const MEMBERS: [&str; 4] = ["metadata", "env", "environment", "system"];

/// Ends of names of secrets, and words inside them, in upper case.
const ENDS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY"];
const WORDS: [&str; 5] = ["SECRET_", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIALS", "AUTH_TOKEN"];
/// Shorter values are placeholders.
const SHORTEST: usize = 8;
/// Deeper members are not looked at.
const DEEPEST: usize = 8;

/// Adds the names of the texts below `value` that look like secrets.
pub(crate) fn collect(value: &Value, found: &mut Vec<String>) {
    below(value, found, 0);
}

fn below(value: &Value, found: &mut Vec<String>, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Dict(members) => {
            for (name, value) in members {
                match value {
                    Value::Text(text) if is_secret(name, text) => {
                        if !found.iter().any(|known| known == name) {
                            found.push(name.to_string());
                        }
                    }
                    _ => below(value, found, depth + 1),
                }
            }
        }
        Value::List(values) => values.iter().for_each(|value| below(value, found, depth + 1)),
        _ => {}
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_uppercase();
    let named = ENDS.iter().any(|end| name.ends_with(end)) || WORDS.iter().any(|word| name.contains(word));
    // Stars and a word in brackets stand for what someone took out; a path is no secret itself.
    let is_masked = value.chars().filter(|letter| !matches!(letter, '*' | 'x' | 'X' | '.')).count() < SHORTEST
        || value.starts_with(['<', '[', '/'])
        || value.to_lowercase().contains("redacted");
    named && !is_masked
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn names_and_values_tell_secrets() {
        for (name, value) in [
            ("HF_TOKEN", "abcdefghijk12345"),
            ("AWS_SECRET_ACCESS_KEY", "0123456789abcdef"),
            ("wandb_api_key", "0123456789abcdef"),
            ("DB_PASSWORD", "correct horse"),
        ] {
            assert!(is_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("TOKENIZERS_PARALLELISM", "false false false"),
            ("HF_TOKEN", "****************"),
            ("HF_TOKEN", ""),
            ("HF_TOKEN", "<redacted by CI>"),
            ("MAX_TOKENS", "1234567890"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/keys/service.json"),
        ] {
            assert!(!is_secret(name, value), "{name}");
        }
    }
}
