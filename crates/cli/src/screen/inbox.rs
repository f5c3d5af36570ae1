//! `ade inbox --watch`: a live view of pending approval requests. Decisions are made with separate
//! commands, which show the whole task first.

use ade_api::approvals::Approval;
use ade_api::page::PageQuery;
use ade_client::Client;
use ade_core::event::Topic;
use ade_core::ids::ApprovalId;
use ade_core::limits::CLI_SCREEN_ROWS;
use ade_core::task_ref::TaskRef;
use ade_core::time::Timestamp;
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Constraint;
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row};

use super::{Link, Step, View, bands, feed, footline, headline, moved, opened, table};
use crate::args::InboxArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look::{self, time};
use crate::text::{named, visible};

const KEYS: &str = "↑↓ move  ↵ detail  q quit";
/// The number of detail lines below the list.
const DETAIL_LINES: u16 = 8;

pub async fn inbox(client: &Client, args: &InboxArgs, cx: &Context) -> Result<Exit, Failure> {
    let (status, least) = (args.status, args.risk.unwrap_or(0));
    let mut feed = feed(client, Topic::Approval, move |client: Client| async move {
        let page = PageQuery { page_size: Some(CLI_SCREEN_ROWS), page_token: None };
        let mut items = client.approvals().inbox(status, &page).await?.items;
        items.retain(|one| one.task.risk.score >= least);
        Ok(items)
    });
    let Some(news) = feed.news.take() else { return Ok(Exit::Done) };
    let mut inbox = Inbox::default();
    super::run(&mut inbox, news, |never: Never| match never {}).await?;
    let row = |one: &Approval| {
        let cells = [
            look::bars(one.task.risk),
            one.task.id.to_string(),
            cx.output.name(&one.task.title, 48),
        ];
        cells.into_iter().map(comfy_table::Cell::new).collect()
    };
    let nothing = ("No requests are waiting for you.", "ade tasks list");
    cx.output.list(&inbox.items, &["RISK", "TASK", "TITLE"], row, nothing)?;
    Ok(Exit::Done)
}

/// The screen has no actions.
#[derive(Debug, PartialEq, Eq)]
enum Never {}

#[derive(Debug, Default)]
struct Inbox {
    items: Vec<Approval>,
    /// The selection, kept by ID because rows can move.
    selected: Option<ApprovalId>,
    has_detail: bool,
    /// The number of requests that arrived since the last key press.
    fresh: usize,
}

impl Inbox {
    fn place(&self) -> usize {
        let chosen = |one: &Approval| Some(one.id) == self.selected;
        self.items.iter().position(chosen).unwrap_or(0)
    }

    fn chosen(&self) -> Option<&Approval> {
        self.items.get(self.place())
    }
}

impl View for Inbox {
    type Data = Vec<Approval>;
    type Act = Never;

    fn update(&mut self, data: Self::Data) {
        let is_known = |one: &Approval| self.items.iter().any(|known| known.id == one.id);
        if !self.items.is_empty() {
            self.fresh += data.iter().filter(|one| !is_known(one)).count();
        }
        // The selected request stays selected.
        let chosen = self.chosen().map(|one| one.id);
        self.items = data;
        self.selected = chosen.or_else(|| self.items.first().map(|one| one.id));
    }

    fn notice(&mut self, _: String) {}

    fn key(&mut self, key: KeyEvent) -> Step<Never> {
        self.fresh = 0;
        if let Some(step) = opened(key.code, &mut self.has_detail) {
            return step;
        }
        let place = moved(self.place(), key.code, self.items.len());
        self.selected = self.items.get(place).map(|one| one.id);
        Step::Stay
    }

    fn draw(&mut self, frame: &mut Frame<'_>, link: &Link, now: Timestamp) {
        let [head, list, below, foot] = bands(frame, self.has_detail, DETAIL_LINES);
        let fresh = if self.fresh > 0 { format!(" · {} new", self.fresh) } else { String::new() };
        headline(frame, head, &format!("Inbox  {} waiting for you{fresh}", self.items.len()), link);
        if self.items.is_empty() {
            frame.render_widget(Paragraph::new("No requests are waiting for you."), list);
        } else {
            let widths = [
                Constraint::Length(18),
                Constraint::Fill(3),
                Constraint::Fill(1),
                Constraint::Length(16),
                Constraint::Length(9),
            ];
            let names = ["RISK", "TITLE", "TYPE", "DUE", "REQUESTED"];
            let rows = self.items.iter().map(|one| row(one, now)).collect();
            table(frame, list, (names, widths), rows, self.place());
        }
        if let Some(one) = self.chosen().filter(|_| self.has_detail) {
            frame.render_widget(Paragraph::new(lines(one, now)), below);
        }
        footline(frame, foot, &link.why().unwrap_or_else(|| KEYS.to_owned()));
    }
}

fn due(one: &Approval, now: Timestamp) -> String {
    let when = time::relative(one.due_at, now);
    if one.due_at <= now { format!("overdue {when}") } else { when }
}

fn row(one: &Approval, now: Timestamp) -> Row<'static> {
    let cells = [
        look::bars(one.task.risk),
        named(&one.task.title),
        visible(&one.task.task_type),
        due(one, now),
        time::relative(one.requested_at, now),
    ];
    Row::new(cells.map(Cell::from))
}

fn lines(one: &Approval, now: Timestamp) -> Vec<Line<'static>> {
    let task = &one.task;
    let rows = [
        named(&task.title),
        format!("  task     {} {}", task.id, TaskRef::Number(task.number)),
        format!("  revision {}", one.revision),
        format!("  risk     {}", look::bars(task.risk)),
        format!("  author   {}", task.author_id),
        format!("  due      {}", due(one, now)),
        format!("  next     ade approve {}", task.id),
    ];
    std::iter::once(String::new()).chain(rows).map(Line::raw).collect()
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
