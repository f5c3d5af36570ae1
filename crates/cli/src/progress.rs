//! Progress messages of `ade run` on standard error: on a terminal a spinner for the current wait
//! and one line per step; in a pipe one line per change.

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
    /// The last line, so that a pipe does not get it twice.
    last_line: String,
}

impl Progress {
    pub fn new(paint: Paint) -> Self {
        Self {
            paint,
            is_terminal: std::io::stderr().is_terminal(),
            spinner: None,
            last_line: String::new(),
        }
    }

    /// Reports a completed step.
    pub fn reached(&mut self, word: &str, text: &str) {
        let mark = self.paint.green("✓");
        self.line(&mark, word, text);
    }

    /// Reports a warning; the run continues.
    pub fn warn(&mut self, word: &str, text: &str) {
        let mark = self.paint.yellow("!");
        self.line(&mark, word, text);
    }

    /// Reports a wait that lasts until the next step.
    pub fn awaits(&mut self, word: &str, text: &str) {
        self.spins(word, text);
        if !self.is_terminal && self.last_line != format!("{word} {text}") {
            self.line("", word, text);
        }
    }

    /// Reports a short wait with a spinner only; a pipe gets no line.
    pub fn spins(&mut self, word: &str, text: &str) {
        if self.is_terminal {
            let spinner = self.spinner.get_or_insert_with(spinner);
            spinner.set_message(format!("{}  {text}", self.paint.bold(word)));
        }
    }

    /// Clears the spinner before other output is written to the terminal.
    pub fn clear(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    fn line(&mut self, mark: &str, word: &str, text: &str) {
        self.clear();
        self.last_line = format!("{word} {text}");
        // A pipe is shared with the command's output, so these lines are prefixed.
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
