//! Colours for terminals. Nothing is coloured elsewhere or when `NO_COLOR` is set, so that a log
//! stays plain text.

use std::io::IsTerminal as _;

pub fn red(text: &str) -> String {
    wrap(text, "31;1")
}

pub fn green(text: &str) -> String {
    wrap(text, "32")
}

pub fn yellow(text: &str) -> String {
    wrap(text, "33")
}

pub fn bold(text: &str) -> String {
    wrap(text, "1")
}

fn wrap(text: &str, code: &str) -> String {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let watched = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    if watched && !refused { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}
