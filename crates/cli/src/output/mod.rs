//! Output of every command: data goes to standard output and messages to standard error. Colour is
//! used only on a terminal and unless disabled. Machine formats are derived from the JSON alone.

mod paint;
mod render;
mod select;

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use ade_core::time::Timestamp;
use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::Value;

use crate::args::{Format, OutputArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look::time;
use crate::text::{named, visible};
pub use paint::{Paint, Tone};
pub use render::dotted;

#[derive(Debug, Clone)]
pub struct Output {
    format: Format,
    jq: Option<String>,
    columns: Vec<String>,
    has_headers: bool,
    is_quiet: bool,
    is_terminal: bool,
    /// The colours of standard output.
    pub paint: Paint,
    /// The colours of standard error.
    pub talk: Paint,
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

impl Output {
    pub fn new(args: &OutputArgs) -> Self {
        let is_forced = is_set("ADE_FORCE_TTY");
        let is_terminal = is_forced || std::io::stdout().is_terminal();
        let format = if args.json { Format::Json } else { args.output };
        Self {
            format,
            jq: args.jq.clone(),
            columns: args.columns.clone(),
            has_headers: !args.no_headers,
            is_quiet: args.quiet,
            is_terminal,
            paint: Paint::on(is_terminal),
            talk: Paint::on(is_forced || std::io::stderr().is_terminal()),
        }
    }

    /// Checks whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    pub fn is_wide(&self) -> bool {
        self.format == Format::Wide
    }

    /// Checks whether the output format is meant for people.
    pub fn is_for_people(&self) -> bool {
        self.jq.is_none() && matches!(self.format, Format::Table | Format::Wide)
    }

    /// Checks whether messages on standard error are wanted.
    pub fn is_talking(&self) -> bool {
        !self.is_quiet && self.is_for_people()
    }

    /// Prints a value, as text for people or in the chosen machine format.
    pub fn show(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> Shown {
        if self.is_for_people() && self.columns.is_empty() {
            print(&text());
            return Ok(());
        }
        let value = serde_json::to_value(value).unwrap_or_default();
        let text = match &self.jq {
            Some(filter) => self.selected(filter, &value)?,
            None => self.rendered(&value),
        };
        print(&text);
        Ok(())
    }

    fn rendered(&self, value: &Value) -> String {
        match self.format {
            Format::Table | Format::Wide => {
                let rows = render::cells(value, &self.columns);
                let rows = rows.into_iter().map(|row| row.into_iter().map(Cell::new).collect());
                let head: Vec<String> =
                    self.columns.iter().map(|name| name.to_uppercase()).collect();
                self.table(&head, rows.collect())
            }
            Format::Json => render::json(&render::narrowed(value, &self.columns), self.is_terminal),
            Format::Jsonl => render::jsonl(&render::narrowed(value, &self.columns)),
            Format::Yaml => render::yaml(&render::narrowed(value, &self.columns)),
            Format::Name => render::names(value),
            Format::Csv => render::csv(value, &self.columns, self.has_headers),
        }
    }

    /// Applies a jq filter. Strings are printed raw for scripts; on a terminal, control characters
    /// are escaped.
    fn selected(&self, filter: &str, value: &Value) -> Result<String, Failure> {
        let found = select::select(filter, value).map_err(|why| {
            Failure::new(Exit::Usage, "invalid jq filter")
                .detail(why)
                .or_next("ade tasks list --jq '.[].id'")
        })?;
        let line = |value: &Value| match value {
            Value::String(text) if self.is_terminal => format!("{}\n", visible(text)),
            Value::String(text) => format!("{text}\n"),
            other => render::json(other, false),
        };
        Ok(found.iter().map(line).collect())
    }

    /// Prints one line of a continuing output.
    pub fn line(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> Shown {
        if self.format == Format::Json && self.jq.is_none() {
            // Programs can read one JSON document per line while the output continues.
            print(&render::jsonl(&serde_json::to_value(value).unwrap_or_default()));
            return Ok(());
        }
        self.show(value, text)
    }

    pub fn fail(&self, failure: &Failure) {
        let is_read = matches!(self.format, Format::Json | Format::Jsonl);
        let text = if is_read { format!("{}\n", failure.json()) } else { failure.shown(self.talk) };
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// Prints a message on standard error, except with `--quiet` or a machine format.
    pub fn remark(&self, text: &str) {
        if self.is_talking() {
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
    }

    /// Formats a time: relative on a terminal, exact in a pipe.
    pub fn when(&self, at: Timestamp) -> String {
        if !self.is_terminal {
            return at.to_string();
        }
        if self.is_wide() { time::second(at) } else { time::relative(at, time::now()) }
    }

    /// Formats untrusted text for a cell: escaped, and cut on a terminal.
    pub fn text(&self, text: &str, chars: usize) -> String {
        self.cut(visible(text), chars)
    }

    /// Formats an untrusted name or title for a cell.
    pub fn name(&self, name: &str, chars: usize) -> String {
        self.cut(named(name), chars)
    }

    fn cut(&self, shown: String, chars: usize) -> String {
        let is_cut = self.is_terminal && !self.is_wide();
        if is_cut { crate::text::cut(&shown, chars) } else { shown }
    }

    pub fn cell(&self, text: &str, tone: Tone) -> Cell {
        let cell = Cell::new(text);
        if self.paint == Paint::OFF {
            return cell;
        }
        match tone {
            Tone::Plain => cell,
            Tone::Quiet => cell.add_attribute(Attribute::Dim),
            Tone::Busy => cell.fg(Color::Yellow),
            Tone::Good => cell.fg(Color::Green),
            Tone::Bad => cell.fg(Color::Red),
        }
    }

    /// Formats a table, fitted to the terminal; in a pipe no value is cut.
    pub fn table<H: AsRef<str>>(&self, head: &[H], rows: Vec<Vec<Cell>>) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        if self.is_terminal && !self.is_wide() {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        if self.paint != Paint::OFF {
            table.enforce_styling();
        }
        if self.has_headers {
            table.set_header(head.iter().map(|name| {
                let cell = Cell::new(name.as_ref());
                if self.paint == Paint::OFF { cell } else { cell.add_attribute(Attribute::Bold) }
            }));
        }
        for row in rows {
            table.add_row(row);
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }

    /// Prints a list as a table; for an empty list, prints a message and the next command.
    pub fn list<T: Serialize, H: AsRef<str>>(
        &self,
        items: &[T],
        head: &[H],
        row: impl Fn(&T) -> Vec<Cell>,
        (nothing, next): (&str, &str),
    ) -> Shown {
        self.show(&items, || {
            if items.is_empty() {
                return format!("{nothing}\n  next     {}\n", self.paint.bold(next));
            }
            self.table(head, items.iter().map(row).collect())
        })
    }

    /// Prints what was done and the next command.
    pub fn done(&self, value: &impl Serialize, what: &str, next: &str) -> Shown {
        self.show(value, || {
            let tick = self.paint.green("✓");
            format!("{tick} {what}\n  next     {}\n", self.paint.bold(next))
        })
    }

    /// Formats labelled values under a headline.
    pub fn facts(&self, headline: &str, rows: &[(&str, String)]) -> String {
        let wide = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0).max(8);
        let mut out = format!("{}\n", self.paint.bold(headline));
        for (label, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
            let _ = writeln!(out, "  {label:<wide$} {text}");
        }
        out
    }
}

/// Writes to standard output and ignores a closed pipe.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// The result of printing. Only an invalid jq filter is an error.
pub type Shown = Result<(), Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Output {
        Output {
            format: Format::Table,
            jq: None,
            columns: Vec::new(),
            has_headers: true,
            is_quiet: false,
            is_terminal: false,
            paint: Paint::OFF,
            talk: Paint::OFF,
        }
    }

    #[test]
    fn table_in_a_pipe_has_whole_values_and_no_escapes() {
        let long = "x".repeat(300);
        let table = plain().table(&["A", "B"], vec![vec![Cell::new("1"), Cell::new(&long)]]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines, ["A  B", &format!("1  {long}")]);
        let bare = Output { has_headers: false, ..plain() };
        assert_eq!(bare.table(&["A"], vec![vec![Cell::new("1")]]), "1\n");
    }

    #[test]
    fn timestamp_in_a_pipe_is_not_cut() {
        let at: Timestamp = "2026-11-15T15:20:31.004211Z".parse().unwrap();
        assert_eq!(plain().when(at), "2026-11-15T15:20:31.004211Z");
    }
}
