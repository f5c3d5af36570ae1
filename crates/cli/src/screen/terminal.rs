//! The terminal of a live screen: alternate screen and raw mode, which are restored at the end in
//! every case.

use std::io::{IsTerminal as _, Stdout, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use tokio::sync::mpsc;

use crate::exit::Exit;
use crate::failure::Failure;

/// How often the key reader checks whether the screen has ended.
const LOOK: Duration = Duration::from_millis(100);
/// The size of the key queue.
const KEYS: usize = 64;

pub struct Live {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    keys: mpsc::Receiver<KeyEvent>,
    is_over: Arc<AtomicBool>,
}

impl Live {
    pub fn open() -> Result<Self, Failure> {
        if !stdout().is_terminal() || !std::io::stdin().is_terminal() {
            return Err(Failure::new(Exit::Usage, "the live view needs a terminal")
                .or_next("ade locks list"));
        }
        enable_raw_mode().map_err(failed)?;
        execute!(stdout(), EnterAlternateScreen).map_err(failed)?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout())).map_err(failed)?;
        let (tell, keys) = mpsc::channel(KEYS);
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&is_over);
        std::thread::spawn(move || read(&tell, &watched));
        Ok(Self { terminal, keys, is_over })
    }

    /// Returns the next key, or `None` once no more can come.
    pub async fn key(&mut self) -> Option<KeyEvent> {
        self.keys.recv().await
    }

    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<(), Failure> {
        self.terminal.draw(draw).map(|_| ()).map_err(failed)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = disable_raw_mode();
        let _ = execute!(stdout(), LeaveAlternateScreen);
        let _ = self.terminal.show_cursor();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn failed(error: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot use the terminal: {error}"))
        .or_next("ade locks list")
}

fn read(tell: &mpsc::Sender<KeyEvent>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        match event::poll(LOOK) {
            Ok(false) => {}
            Ok(true) => match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    if tell.blocking_send(key).is_err() {
                        return;
                    }
                }
                // A new size is applied at the next drawing.
                Ok(_) => {}
                Err(_) => return,
            },
            Err(_) => return,
        }
    }
}
