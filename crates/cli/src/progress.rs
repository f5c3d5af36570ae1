//! What `ade run` says while it works, on standard error: on a terminal a spinner for what is
//! awaited and one line for what was reached; in a pipe one line for each change and no more.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::Paint;

const TICK: Duration = Duration::from_millis(120);

#[derive(Debug)]
pub struct Progress {
    paint: Paint,
    is_terminal: bool,
    spinner: Option<ProgressBar>,
    /// What the last line of a pipe said, so that it is not said twice.
    said: String,
}

impl Progress {
    pub fn new(paint: Paint) -> Self {
        Self {
            paint,
            is_terminal: std::io::stderr().is_terminal(),
            spinner: None,
            said: String::new(),
        }
    }

    /// Something was reached.
    pub fn reached(&mut self, word: &str, text: &str) {
        let mark = self.paint.green("✓");
        self.line(&mark, word, text);
    }

    /// Something a person should notice, though it goes on.
    pub fn warn(&mut self, word: &str, text: &str) {
        let mark = self.paint.yellow("!");
        self.line(&mark, word, text);
    }

    /// Something is awaited, until the next thing is reached.
    pub fn awaits(&mut self, word: &str, text: &str) {
        self.spins(word, text);
        if !self.is_terminal && self.said != format!("{word} {text}") {
            self.line("", word, text);
        }
    }

    /// The same where it will most likely be over before anybody reads it: no line in a log.
    pub fn spins(&mut self, word: &str, text: &str) {
        if self.is_terminal {
            let spinner = self.spinner.get_or_insert_with(spinner);
            spinner.set_message(format!("{}  {text}", self.paint.bold(word)));
        }
    }

    /// Before somebody else writes to the terminal.
    pub fn clear(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    fn line(&mut self, mark: &str, word: &str, text: &str) {
        self.clear();
        self.said = format!("{word} {text}");
        // A pipe shares the stream with the command: its lines say whose they are.
        let line = if self.is_terminal {
            format!("{mark} {}  {text}\n", self.paint.bold(word))
        } else {
            format!("[ade] {word}  {text}\n")
        };
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}
