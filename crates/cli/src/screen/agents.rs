//! `ade agents top`: a live view of agents with status and load; agents in trouble come first.

use std::cmp::Reverse;

use ade_api::agents::{Agent, AgentDirective};
use ade_api::page::PageQuery;
use ade_client::Client;
use ade_core::agent::AgentStatus;
use ade_core::event::Topic;
use ade_core::ids::AgentId;
use ade_core::limits::CLI_SCREEN_ROWS;
use ade_core::time::Timestamp;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Constraint;
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row};

use super::{Link, News, Step, View, bands, edit, feed, footline, headline, moved, opened, table};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look::{self, capabilities, seen, time};
use crate::text::{named, visible};

const KEYS: &str = "↑↓ move  ↵ detail  s sort  p pause  r resume  q quit";
/// The number of detail lines below the list.
const DETAIL_LINES: u16 = 8;

pub async fn agents(client: &Client, cx: &Context) -> Result<Exit, Failure> {
    let mut feed = feed(client, Topic::Agent, async |client: Client| {
        let page = PageQuery { page_size: Some(CLI_SCREEN_ROWS), page_token: None };
        let mut agents = client.agents().list(&page).await?.items;
        agents.retain(|agent| agent.revoked_at.is_none());
        Ok(agents)
    });
    let Some(news) = feed.news.take() else { return Ok(Exit::Done) };
    let tell = feed.tell.clone();
    let mut top = Top::default();
    let act = |order: Order| {
        let (client, tell) = (client.clone(), tell.clone());
        tokio::spawn(async move {
            let ordered = match order {
                Order::Pause { agent, reason } => {
                    client.agents().pause(agent, &AgentDirective { reason: Some(reason) }).await
                }
                Order::Resume(agent) => {
                    client.agents().resume(agent, &AgentDirective { reason: None }).await
                }
            };
            let notice = match ordered {
                Ok(agent) => format!("{} is {}", agent.name, agent.status.as_str()),
                Err(error) => format!("request failed: {error}"),
            };
            let _ = tell.send(News::Notice(notice)).await;
        });
    };
    super::run(&mut top, news, act).await?;
    // The last data stays in the scrollback of the terminal.
    let row = |agent: &&Agent| {
        let cells = [agent.status.as_str().to_owned(), load(agent), named(&agent.name)];
        cells.into_iter().map(comfy_table::Cell::new).collect()
    };
    let nothing = ("No agents yet.", "ade agents create NAME --owner USER");
    cx.output.list(&top.shown(), &["STATUS", "LOAD", "NAME"], row, nothing)?;
    Ok(Exit::Done)
}

#[derive(Debug, Default)]
struct Top {
    agents: Vec<Agent>,
    /// The selection, kept by ID because rows can move.
    selected: Option<AgentId>,
    sort: Sort,
    /// The reason for pausing the selected agent, while it is typed.
    pausing: Option<String>,
    has_detail: bool,
    notice: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Sort {
    #[default]
    Trouble,
    Load,
    Name,
}

#[derive(Debug, PartialEq, Eq)]
enum Order {
    Pause { agent: AgentId, reason: String },
    Resume(AgentId),
}

impl Sort {
    const fn word(self) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::Load => "load",
            Self::Name => "name",
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::Trouble => Self::Load,
            Self::Load => Self::Name,
            Self::Name => Self::Trouble,
        }
    }
}

/// Returns the sort key of a status: late agents come first, then offline ones.
const fn calm(status: AgentStatus) -> u8 {
    match status {
        AgentStatus::Late => 0,
        AgentStatus::Offline => 1,
        AgentStatus::Draining => 2,
        AgentStatus::Paused => 3,
        AgentStatus::Active => 4,
    }
}

fn load(agent: &Agent) -> String {
    format!("{}/{}", agent.load.unwrap_or(0), agent.max_tasks)
}

impl Top {
    fn shown(&self) -> Vec<&Agent> {
        let mut shown: Vec<&Agent> = self.agents.iter().collect();
        shown.sort_by(|one, other| one.name.cmp(&other.name));
        match self.sort {
            Sort::Trouble => shown.sort_by_key(|agent| calm(agent.status)),
            Sort::Load => shown.sort_by_key(|agent| Reverse(agent.load.unwrap_or(0))),
            Sort::Name => {}
        }
        shown
    }

    fn place(&self) -> usize {
        self.shown().iter().position(|agent| Some(agent.id) == self.selected).unwrap_or(0)
    }

    fn chosen(&self) -> Option<&Agent> {
        self.shown().get(self.place()).copied()
    }

    fn go(&mut self, key: KeyCode) {
        let shown = self.shown();
        let place = moved(self.place(), key, shown.len());
        self.selected = shown.get(place).map(|agent| agent.id);
    }

    fn typed(&mut self, key: KeyCode, mut reason: String) -> Step<Order> {
        match key {
            KeyCode::Esc => return Step::Stay,
            KeyCode::Enter => {
                if let Some(agent) = self.selected.filter(|_| !reason.trim().is_empty()) {
                    return Step::Do(Order::Pause { agent, reason });
                }
                self.notice = Some("not paused: a reason is required".to_owned());
                return Step::Stay;
            }
            other => edit(&mut reason, other),
        }
        self.pausing = Some(reason);
        Step::Stay
    }

    fn foot(&self, link: &Link) -> String {
        if let Some(reason) = &self.pausing {
            let name = self.chosen().map(|agent| named(&agent.name)).unwrap_or_default();
            return format!("pause {name}, reason: {}_   ↵ pause  Esc cancel", visible(reason));
        }
        link.why().or(self.notice.clone()).unwrap_or_else(|| KEYS.to_owned())
    }

    fn headline(&self) -> String {
        let there = self.agents.iter().filter(|agent| agent.status == AgentStatus::Active).count();
        let busy: u32 = self.agents.iter().filter_map(|agent| agent.load).sum();
        let all = self.agents.len();
        format!(
            "Agents  {there} of {all} active · {busy} task(s) running · sorted by {}",
            self.sort.word()
        )
    }
}

impl View for Top {
    type Data = Vec<Agent>;
    type Act = Order;

    fn update(&mut self, data: Self::Data) {
        self.agents = data;
        let is_there = self.agents.iter().any(|agent| Some(agent.id) == self.selected);
        if !is_there && self.pausing.take().is_some() {
            self.notice = Some("not paused: the agent no longer exists".to_owned());
        }
    }

    fn notice(&mut self, text: String) {
        self.notice = Some(visible(&text));
    }

    fn key(&mut self, key: KeyEvent) -> Step<Order> {
        if let Some(reason) = self.pausing.take() {
            return self.typed(key.code, reason);
        }
        self.notice = None;
        // A key acts on the agent under the cursor when it is pressed, even if rows move later.
        self.selected = self.chosen().map(|agent| agent.id);
        if let Some(step) = opened(key.code, &mut self.has_detail) {
            return step;
        }
        match key.code {
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('p') => self.pausing = self.selected.map(|_| String::new()),
            KeyCode::Char('r') => {
                return self.selected.map_or(Step::Stay, |agent| Step::Do(Order::Resume(agent)));
            }
            other => self.go(other),
        }
        Step::Stay
    }

    fn draw(&mut self, frame: &mut Frame<'_>, link: &Link, now: Timestamp) {
        let [head, list, below, foot] = bands(frame, self.has_detail, DETAIL_LINES);
        headline(frame, head, &self.headline(), link);
        if self.agents.is_empty() {
            frame.render_widget(Paragraph::new("No agents yet."), list);
        } else {
            let widths = [
                Constraint::Length(11),
                Constraint::Fill(2),
                Constraint::Length(7),
                Constraint::Length(10),
                Constraint::Fill(3),
            ];
            let rows = self.shown().into_iter().map(|agent| row(agent, now)).collect();
            let names = ["STATUS", "NAME", "LOAD", "SEEN", "CAPABILITIES"];
            table(frame, list, (names, widths), rows, self.place());
        }
        if let Some(agent) = self.chosen().filter(|_| self.has_detail) {
            frame.render_widget(Paragraph::new(lines(agent, now)), below);
        }
        footline(frame, foot, &self.foot(link));
    }
}

fn status(agent: &Agent) -> String {
    format!("{} {}", look::agent(agent.status).0, agent.status.as_str())
}

fn row(agent: &Agent, now: Timestamp) -> Row<'static> {
    let cells = [
        status(agent),
        named(&agent.name),
        load(agent),
        seen(agent, |at| time::relative(at, now)),
        visible(&capabilities(agent)),
    ];
    Row::new(cells.map(Cell::from))
}

fn lines(agent: &Agent, now: Timestamp) -> Vec<Line<'static>> {
    let rows = [
        named(&agent.name),
        format!("  agent    {}", agent.id),
        format!("  owner    {}", agent.owner_id),
        format!("  status   {}, seen {}", status(agent), seen(agent, |at| time::relative(at, now))),
        format!("  load     {}", load(agent)),
        format!("  config   version {}", agent.config_version),
        format!("  next     ade tasks list --agent {}", agent.id),
    ];
    std::iter::once(String::new()).chain(rows).map(Line::raw).collect()
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
