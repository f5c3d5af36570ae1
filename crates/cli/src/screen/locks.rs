//! `ade locks top`: a live view of locks, holders and waiters; most waiters first.

use std::cmp::Reverse;
use std::time::Duration;

use ade_api::locks::{Breaking, LeaseSummary, Lock, LockEntry};
use ade_api::page::PageQuery;
use ade_client::Client;
use ade_core::change::Digest;
use ade_core::event::Topic;
use ade_core::limits::CLI_SCREEN_ROWS;
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row};

use super::{Link, News, Step, View, bands, edit, feed, footline, headline, moved, opened, table};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::locks::lease::{sole_holder, who};
use crate::look::time;
use crate::tasks::word;
use crate::text::visible;

const KEYS: &str = "↑↓ move  ↵ detail  s sort  / filter  b break  q quit";
/// The number of locks with the most waiters whose queues are loaded as well.
const LINES: usize = 8;
/// The number of detail lines below the list.
const DETAIL_LINES: u16 = 10;

pub async fn locks(client: &Client, cx: &Context) -> Result<Exit, Failure> {
    let mut feed = feed(client, Topic::Lock, async |client: Client| {
        let page = PageQuery { page_size: Some(CLI_SCREEN_ROWS), page_token: None };
        let mut locks = client.locks().list(&page).await?.items;
        // A list contains only the number of waiters; their names are loaded per lock.
        locks.sort_by_key(|lock| Reverse(lock.waiting));
        for lock in locks.iter_mut().filter(|lock| lock.waiting > 0).take(LINES) {
            if let Ok(whole) = client.locks().get(&lock.resource).await {
                *lock = whole;
            }
        }
        Ok(locks)
    });
    let Some(news) = feed.news.take() else { return Ok(Exit::Done) };
    let tell = feed.tell.clone();
    let mut top = Top::default();
    let act = |Break { resource, holder, reason }: Break| {
        let (client, tell) = (client.clone(), tell.clone());
        tokio::spawn(async move {
            let breaking = Breaking { reason, lease_hash: holder };
            let notice = match client.locks().break_lock(&resource, &breaking).await {
                Ok(broken) => {
                    format!("broke the lock on {resource} for {} holder(s)", broken.leases.len())
                }
                Err(error) => format!("could not break the lock on {resource}: {error}"),
            };
            let _ = tell.send(News::Notice(notice)).await;
        });
    };
    super::run(&mut top, news, act).await?;
    // The last data stays in the scrollback of the terminal.
    let head = ["RESOURCE", "HELD", "WAITING", "HOLDER"];
    let row = |lock: &Lock| {
        let holder = first(lock).map(who).unwrap_or_default();
        let cells =
            [lock.resource.to_string(), lock.holding.to_string(), lock.waiting.to_string(), holder];
        cells.into_iter().map(comfy_table::Cell::new).collect()
    };
    cx.output.list(&top.locks, &head, row, ("No locks are held.", "ade locks list"))?;
    Ok(Exit::Done)
}

#[derive(Debug, Default)]
struct Top {
    locks: Vec<Lock>,
    /// The selection, kept by name because rows can move.
    selected: Option<ResourceRef>,
    sort: Sort,
    filter: String,
    entry: Entry,
    has_detail: bool,
    notice: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Sort {
    #[default]
    Waiters,
    Age,
    Left,
}

/// What typed keys are used for.
#[derive(Debug, Default, PartialEq, Eq)]
enum Entry {
    #[default]
    Moving,
    Filter,
    /// The lock to break and the reason typed so far.
    Break(Break),
}

#[derive(Debug, PartialEq, Eq)]
struct Break {
    resource: ResourceRef,
    /// The lease to break; all leases if there are several.
    holder: Option<Digest>,
    reason: String,
}

impl Sort {
    const fn word(self) -> &'static str {
        match self {
            Self::Waiters => "waiters",
            Self::Age => "age",
            Self::Left => "time left",
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::Waiters => Self::Age,
            Self::Age => Self::Left,
            Self::Left => Self::Waiters,
        }
    }
}

fn first(lock: &Lock) -> Option<&LeaseSummary> {
    lock.holders.first().map(|entry| &entry.summary)
}

impl Top {
    fn shown(&self) -> Vec<&Lock> {
        let fits = |lock: &&Lock| {
            let holder = first(lock).map(who).unwrap_or_default();
            lock.resource.to_string().contains(&self.filter) || holder.contains(&self.filter)
        };
        let mut shown: Vec<&Lock> = self.locks.iter().filter(fits).collect();
        shown.sort_by_key(|lock| lock.resource.clone());
        match self.sort {
            Sort::Waiters => shown.sort_by_key(|lock| Reverse(lock.waiting)),
            Sort::Age => shown.sort_by_key(|lock| first(lock).map(|view| view.since)),
            Sort::Left => shown.sort_by_key(|lock| first(lock).map(|view| view.expires_at)),
        }
        shown
    }

    fn place(&self) -> usize {
        let chosen = self.selected.as_ref();
        let shown = self.shown();
        shown.iter().position(|lock| Some(&lock.resource) == chosen).unwrap_or(0)
    }

    fn go(&mut self, key: KeyCode) {
        let shown = self.shown();
        let place = moved(self.place(), key, shown.len());
        self.selected = shown.get(place).map(|lock| lock.resource.clone());
    }

    fn chosen(&self) -> Option<&Lock> {
        self.shown().get(self.place()).copied()
    }

    fn begin_break(&mut self) {
        let Some(lock) = self.chosen() else { return };
        let (resource, holder) = (lock.resource.clone(), sole_holder(lock));
        self.selected = Some(resource.clone());
        self.entry = Entry::Break(Break { resource, holder, reason: String::new() });
    }

    fn typed(&mut self, key: KeyCode) -> Step<Break> {
        let text = match &mut self.entry {
            Entry::Filter => &mut self.filter,
            Entry::Break(wanted) => &mut wanted.reason,
            Entry::Moving => return Step::Stay,
        };
        match key {
            KeyCode::Esc => {
                if self.entry == Entry::Filter {
                    self.filter.clear();
                }
                self.entry = Entry::Moving;
            }
            KeyCode::Enter => return self.entered(),
            other => edit(text, other),
        }
        Step::Stay
    }

    fn entered(&mut self) -> Step<Break> {
        let Entry::Break(wanted) = std::mem::take(&mut self.entry) else { return Step::Stay };
        if wanted.reason.trim().is_empty() {
            self.notice = Some("not broken: a reason is required".to_owned());
            return Step::Stay;
        }
        Step::Do(wanted)
    }

    fn foot(&self, link: &Link) -> String {
        match &self.entry {
            Entry::Filter => format!("filter: {}_   ↵ apply  Esc clear", self.filter),
            Entry::Break(Break { resource, reason, .. }) => {
                format!("break {resource}, reason: {}_   ↵ break  Esc cancel", visible(reason))
            }
            Entry::Moving => link.why().or(self.notice.clone()).unwrap_or_else(|| KEYS.to_owned()),
        }
    }
}

impl View for Top {
    type Data = Vec<Lock>;
    type Act = Break;

    /// Updates the data. A break applies only to the holder shown when the key was pressed.
    fn update(&mut self, data: Self::Data) {
        self.locks = data;
        let Entry::Break(wanted) = &self.entry else { return };
        let found = self.locks.iter().find(|lock| lock.resource == wanted.resource);
        if found.map(sole_holder) != Some(wanted.holder) {
            self.entry = Entry::Moving;
            self.notice = Some("not broken: the holder has changed".to_owned());
        }
    }

    fn notice(&mut self, text: String) {
        self.notice = Some(visible(&text));
    }

    fn key(&mut self, key: KeyEvent) -> Step<Break> {
        if self.entry != Entry::Moving {
            return self.typed(key.code);
        }
        self.notice = None;
        if let Some(step) = opened(key.code, &mut self.has_detail) {
            return step;
        }
        match key.code {
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('/') => self.entry = Entry::Filter,
            KeyCode::Char('b') => self.begin_break(),
            other => self.go(other),
        }
        Step::Stay
    }

    fn draw(&mut self, frame: &mut Frame<'_>, link: &Link, now: Timestamp) {
        let [head, list, below, foot] = bands(frame, self.has_detail, DETAIL_LINES);
        let waiting: usize = self.locks.iter().map(|lock| lock.waiting).sum();
        let title = format!(
            "Locks  {} held · {waiting} waiting · sorted by {}",
            self.locks.iter().filter(|lock| lock.holding > 0).count(),
            self.sort.word()
        );
        headline(frame, head, &title, link);
        self.list(frame, list, now);
        if let Some(lock) = self.chosen().filter(|_| self.has_detail) {
            frame.render_widget(Paragraph::new(lines(lock, now)), below);
        }
        footline(frame, foot, &self.foot(link));
    }
}

impl Top {
    fn list(&self, frame: &mut Frame<'_>, area: Rect, now: Timestamp) {
        let shown = self.shown();
        if shown.is_empty() {
            let says = if self.locks.is_empty() {
                "No locks are held."
            } else {
                "No locks match the filter."
            };
            frame.render_widget(Paragraph::new(says), area);
            return;
        }
        let widths = [
            Constraint::Fill(2),
            Constraint::Length(12),
            Constraint::Fill(2),
            Constraint::Length(9),
            Constraint::Length(6),
            Constraint::Length(8),
        ];
        let names = ["RESOURCE", "MODE", "HOLDER", "LEFT", "QUEUE", "LONGEST"];
        let rows = shown.iter().map(|lock| row(lock, now)).collect();
        table(frame, area, (names, widths), rows, self.place());
    }
}

/// Formats the remaining time; an expired lease is marked as late.
fn left(view: &LeaseSummary, now: Timestamp) -> String {
    if view.expires_at <= now { "LATE".to_owned() } else { time::clock(view.expires_at.since(now)) }
}

fn row(lock: &Lock, now: Timestamp) -> Row<'static> {
    let holder = first(lock);
    let more = lock.holding.saturating_sub(1);
    let name = holder.map(who).unwrap_or_default();
    let name = if more > 0 { format!("{name} +{more}") } else { name };
    let waited = lock.queue.iter().map(|entry| now.since(entry.summary.since));
    let longest: Option<Duration> = waited.max();
    let cells = [
        lock.resource.to_string(),
        lock.holders.first().map(|entry| word(&entry.mode)).unwrap_or_default(),
        name,
        holder.map(|view| left(view, now)).unwrap_or_default(),
        lock.waiting.to_string(),
        longest.map(time::long).unwrap_or_default(),
    ];
    Row::new(cells.map(Cell::from))
}

fn lines(lock: &Lock, now: Timestamp) -> Vec<Line<'static>> {
    let mut lines = vec![Line::raw(""), Line::raw(lock.resource.to_string())];
    for LockEntry { summary: view, .. } in &lock.holders {
        let fence = view.fence.map(|fence| format!(", token {fence}")).unwrap_or_default();
        let fenced = if view.fenced { "fenced" } else { "advisory" };
        let text = format!("  held by {}, {fenced}{fence}, {} left", who(view), left(view, now));
        lines.push(Line::raw(text));
    }
    for (place, LockEntry { summary: view, mode, .. }) in (1..).zip(&lock.queue) {
        let since = time::long(now.since(view.since));
        let text = format!("  #{place} {} {}, for {since}", who(view), word(mode));
        lines.push(Line::raw(text));
    }
    lines
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
