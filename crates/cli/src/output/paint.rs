//! Terminal colours, used only on a terminal and unless disabled.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(bool);

/// The meaning of a colour. The text next to it always says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Quiet,
    Busy,
    Good,
    Bad,
}

impl Paint {
    pub const OFF: Self = Self(false);

    /// Decides whether to use colours: `NO_COLOR` wins, then `CLICOLOR_FORCE`, then the terminal.
    pub fn on(is_terminal: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_wanted = super::is_set("CLICOLOR_FORCE") || (is_terminal && !is_dumb);
        let is_forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self(is_wanted && !is_forbidden)
    }

    pub fn red(self, text: &str) -> String {
        self.wrap(text, "31;1")
    }

    pub fn green(self, text: &str) -> String {
        self.wrap(text, "32")
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap(text, "33")
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap(text, "1")
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap(text, "2")
    }

    pub fn tone(self, text: &str, tone: Tone) -> String {
        match tone {
            Tone::Plain => text.to_owned(),
            Tone::Quiet => self.dim(text),
            Tone::Busy => self.yellow(text),
            Tone::Good => self.green(text),
            Tone::Bad => self.red(text),
        }
    }

    fn wrap(self, text: &str, code: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_off_adds_no_escapes() {
        assert_eq!(Paint::OFF.red("x"), "x");
        assert_eq!(Paint(true).red("x"), "\u{1b}[31;1mx\u{1b}[0m");
    }
}
