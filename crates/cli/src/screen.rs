//! Live screens: a list that updates itself, with navigation keys and a line that shows how fresh
//! the data is. Screens are drawn from known data; only the loop in this module waits.

mod agents;
mod inbox;
mod locks;
mod terminal;

use std::future::Future;
use std::time::Duration;

use ade_client::{Client, Error, EventMessage, Wanted};
use ade_core::event::Topic;
use ade_core::time::Timestamp;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Row, Table, TableState};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::look::time;
use crate::text::visible;
pub use agents::agents;
pub use inbox::inbox;
pub use locks::locks;
use terminal::Live;

/// A live screen is redrawn at least this often, so that its clocks advance.
const CLI_SCREEN_PERIOD: Duration = Duration::from_secs(1);
/// Poll interval of a live screen without live events.
const CLI_SCREEN_POLL: Duration = Duration::from_secs(2);

/// The size of the message queue of a screen.
const NEWS: usize = 8;

/// A message to a screen.
#[derive(Debug)]
enum News<D> {
    Data(D),
    Failed(Error),
    /// The result of an action that was started on the screen.
    Notice(String),
}

/// What the loop does after a key press.
#[derive(Debug, PartialEq, Eq)]
enum Step<A> {
    Stay,
    Quit,
    Do(A),
}

/// The state of the connection. A lost connection is shown as lost.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Link {
    Connecting,
    Live(Timestamp),
    Lost { since: Option<Timestamp>, why: String },
}

trait View {
    type Data: Send + 'static;
    type Act;

    fn update(&mut self, data: Self::Data);
    fn notice(&mut self, text: String);
    fn key(&mut self, key: KeyEvent) -> Step<Self::Act>;
    fn draw(&mut self, frame: &mut Frame<'_>, link: &Link, now: Timestamp);
}

/// Runs a screen until the user quits.
async fn run<V: View>(
    view: &mut V,
    mut news: mpsc::Receiver<News<V::Data>>,
    mut act: impl FnMut(V::Act),
) -> Result<(), Failure> {
    let mut live = Live::open()?;
    let mut link = Link::Connecting;
    loop {
        live.draw(|frame| view.draw(frame, &link, time::now()))?;
        tokio::select! {
            key = live.key() => match key.map_or(Step::Quit, |key| pressed(view, key)) {
                Step::Stay => {}
                Step::Quit => return Ok(()),
                Step::Do(what) => act(what),
            },
            message = news.recv() => match message {
                Some(News::Data(data)) => {
                    link = Link::Live(time::now());
                    view.update(data);
                }
                Some(News::Failed(error)) => link = link.lost(&error),
                Some(News::Notice(text)) => view.notice(text),
                None => return Ok(()),
            },
            () = tokio::time::sleep(CLI_SCREEN_PERIOD) => {}
        }
    }
}

fn pressed<V: View>(view: &mut V, key: KeyEvent) -> Step<V::Act> {
    let is_interrupt =
        key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    if is_interrupt { Step::Quit } else { view.key(key) }
}

impl Link {
    fn lost(self, error: &Error) -> Self {
        let since = match self {
            Self::Connecting => None,
            Self::Live(at) => Some(at),
            Self::Lost { since, .. } => since,
        };
        Self::Lost { since, why: error.to_string() }
    }

    /// Describes the connection state with an icon and a word.
    fn label(&self) -> String {
        let clock = |at: Timestamp| time::second(at).chars().skip(11).take(8).collect::<String>();
        match self {
            Self::Connecting => "◌ connecting".to_owned(),
            Self::Live(at) => format!("● live {}", clock(*at)),
            Self::Lost { since: Some(at), .. } => format!("■ offline, data of {}", clock(*at)),
            Self::Lost { since: None, .. } => "■ offline".to_owned(),
        }
    }

    fn why(&self) -> Option<String> {
        match self {
            Self::Lost { why, .. } => Some(visible(why)),
            Self::Connecting | Self::Live(_) => None,
        }
    }
}

/// Reloads the data on events and periodically, until the screen ends.
fn feed<D, F, A>(client: &Client, topic: Topic, ask: F) -> Feed<D>
where
    D: Send + 'static,
    F: Fn(Client) -> A + Send + 'static,
    A: Future<Output = Result<D, Error>> + Send,
{
    let (tell, news) = mpsc::channel(NEWS);
    let (hint, mut hinted) = mpsc::channel(1);
    let listening = tokio::spawn(listen(client.clone(), topic, hint));
    let (client, telling) = (client.clone(), tell.clone());
    let asking = tokio::spawn(async move {
        loop {
            let message = match ask(client.clone()).await {
                Ok(data) => News::Data(data),
                Err(error) => News::Failed(error),
            };
            if telling.send(message).await.is_err() {
                return;
            }
            // If the event stream fails, periodic reloads continue.
            if let Ok(None) = timeout(CLI_SCREEN_POLL, hinted.recv()).await {
                tokio::time::sleep(CLI_SCREEN_POLL).await;
            }
        }
    });
    Feed { news: Some(news), tell, tasks: [listening, asking] }
}

struct Feed<D> {
    news: Option<mpsc::Receiver<News<D>>>,
    tell: mpsc::Sender<News<D>>,
    tasks: [JoinHandle<()>; 2],
}

impl<D> Drop for Feed<D> {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn listen(client: Client, topic: Topic, hint: mpsc::Sender<()>) {
    let wanted = Wanted { topics: vec![topic], object: None, after: None };
    let mut stream = client.events().listen(&wanted);
    while let Ok(heard) = stream.next().await {
        if matches!(heard, EventMessage::Event(_) | EventMessage::Reset(_)) {
            // One pending reload is enough.
            let _ = hint.try_send(());
        }
    }
}

/// Splits the screen into headline, list, optional details and footer.
fn bands(frame: &Frame<'_>, has_detail: bool, detail_lines: u16) -> [Rect; 4] {
    let detail = if has_detail { detail_lines } else { 0 };
    Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(detail),
        Constraint::Length(1),
    ])
    .areas(frame.area())
}

/// Draws the list with its column headings and the selected row in reverse.
fn table<const N: usize>(
    frame: &mut Frame<'_>,
    area: Rect,
    (names, widths): ([&'static str; N], [Constraint; N]),
    rows: Vec<Row<'static>>,
    place: usize,
) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    let table =
        Table::new(rows, widths).header(Row::new(names).style(bold)).row_highlight_style(reversed);
    let mut state = TableState::new().with_selected(Some(place));
    frame.render_stateful_widget(table, area, &mut state);
}

/// Draws the first line: the title and the connection state.
fn headline(frame: &mut Frame<'_>, area: Rect, title: &str, link: &Link) {
    let state = link.label();
    let gap = usize::from(area.width)
        .saturating_sub(title.chars().count() + state.chars().count())
        .max(1);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let whole = Line::from(vec![
        Span::styled(title.to_owned(), bold),
        Span::raw(" ".repeat(gap)),
        Span::styled(state, bold),
    ]);
    frame.render_widget(whole, area);
}

/// Draws the last line: the keys, or a notice.
fn footline(frame: &mut Frame<'_>, area: Rect, text: &str) {
    let quiet = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Line::styled(text.to_owned(), quiet), area);
}

/// Handles the keys that all lists share: open and close details, and quit.
fn opened<A>(key: KeyCode, has_detail: &mut bool) -> Option<Step<A>> {
    match key {
        KeyCode::Esc if *has_detail => *has_detail = false,
        KeyCode::Char('q') | KeyCode::Esc => return Some(Step::Quit),
        KeyCode::Enter => *has_detail = !*has_detail,
        _ => return None,
    }
    Some(Step::Stay)
}

/// Applies a typed letter or a backspace to a text.
fn edit(text: &mut String, key: KeyCode) {
    match key {
        KeyCode::Char(c) => text.push(c),
        KeyCode::Backspace => {
            text.pop();
        }
        _ => {}
    }
}

/// Returns the new selection; it does not move in an empty list.
fn moved(selected: usize, key: KeyCode, count: usize) -> usize {
    let last = count.saturating_sub(1);
    match key {
        KeyCode::Up | KeyCode::Char('k') => selected.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => selected.saturating_add(1).min(last),
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => selected.min(last),
    }
}
