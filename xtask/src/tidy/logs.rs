//! The form of log lines: a component and a verb in the past tense, with variables as fields, so
//! that an operator can search for a line and alert on it.

use super::Violation;
use super::source::{Kind, Source, SourceToken};
use crate::tree::Tree;

const MACROS: &[&str] = &["trace", "debug", "info", "warn", "error"];
/// Verbs whose past tense does not end in `ed`.
const IRREGULAR: &[&str] = &[
    "became", "began", "bound", "broke", "built", "caught", "chose", "cut", "did", "fell", "found",
    "frozen", "gave", "got", "held", "hung", "kept", "left", "lost", "made", "put", "ran", "read",
    "rebuilt", "sent", "set", "shut", "spent", "took", "was", "went", "were", "wrote",
];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.ending(".rs").filter(|(path, _)| path.contains("/src/")) {
        let source = Source::scan(text);
        let tests = source.test_modules();
        for (line, message) in messages_of(&source.tokens) {
            let is_test = tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
            if let Some(problem) = problem_of(&message).filter(|_| !is_test) {
                let text = format!("log line {problem}: {message:?}");
                violations.push(Violation::new(path, line, text));
            }
        }
    }
    violations
}

fn problem_of(message: &str) -> Option<&'static str> {
    if message.contains('{') {
        return Some("interpolates a variable: pass it as a field");
    }
    let words: Vec<String> = message
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.len() < 2 {
        return Some("does not name a component and what happened");
    }
    let is_past = |word: &String| word.ends_with("ed") || IRREGULAR.contains(&word.as_str());
    (!words.iter().any(is_past)).then_some("has no verb in the past tense")
}

/// Returns the message of each `tracing` macro: the last literal on the top level of its arguments
/// that is not the value of a field.
fn messages_of(tokens: &[SourceToken]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_macro = MACROS.iter().any(|name| token.is(name));
        let is_called = tokens.get(at + 1).is_some_and(|mark| mark.is("!"))
            && tokens.get(at + 2).is_some_and(|mark| mark.is("("));
        if is_macro && is_called {
            found.extend(message_in(tokens.get(at + 3..).unwrap_or_default()));
        }
    }
    found
}

fn message_in(arguments: &[SourceToken]) -> Option<(usize, String)> {
    let (mut depth, mut message) = (0_usize, None);
    let mut previous: Option<&SourceToken> = None;
    for token in arguments {
        if token.is("(") || token.is("[") || token.is("{") {
            depth += 1;
        } else if token.is(")") || token.is("]") || token.is("}") {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return message,
            }
        } else if token.kind == Kind::Literal && depth == 0 {
            let begins = previous.is_none_or(|mark| mark.is(","));
            if begins {
                message = Some((token.line, token.text.clone()));
            }
        }
        previous = Some(token);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    #[test]
    fn log_line_without_form_is_found() {
        let at = "crates/a/src/x.rs";
        for (message, problem) in
            [("no permit", "past tense"), ("stopped", "component"), ("relay stopped {x}", "field")]
        {
            let text = format!("fn f() {{\n    warn!(name = \"x\", %error, \"{message}\");\n}}\n");
            assert_one(check, &[(at, &text)], &format!("{at}:2"), problem);
        }
    }

    #[test]
    fn log_line_with_form_and_tests_are_accepted() {
        let text = "fn f() { tracing::info!(count = rows(\"x\"), \"relay stopped\"); error!(%e); }";
        assert_eq!(messages(check, &[("crates/a/src/x.rs", text)]), Vec::<String>::new());
        let text = "fn f() { warn!(\"no permit\"); }";
        assert_eq!(messages(check, &[("crates/a/tests/x.rs", text)]), Vec::<String>::new());
    }
}
