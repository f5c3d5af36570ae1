//! A pseudo-terminal for one run of `ade`: its output, and keys to press.

use std::process::ExitStatus;
use std::time::Duration;

use pty_process::{OwnedWritePty, Size};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::installation::SOON;

pub const CTRL_C: &[u8] = b"\x03";

pub struct Terminal {
    child: Child,
    keys: OwnedWritePty,
    screen: watch::Receiver<String>,
    reading: JoinHandle<()>,
}

impl Terminal {
    /// Starts a command with the terminal as its standard streams.
    pub fn start(command: &Command) -> Self {
        Self::start_after(b"", command)
    }

    /// Like [`Terminal::start`], with keys that were pressed before the command started.
    pub fn start_after(keys: &[u8], command: &Command) -> Self {
        let (pty, pts) = pty_process::open().unwrap();
        pty.resize(Size::new(24, 100)).unwrap();
        assert_eq!(rustix::io::write(&pty, keys).unwrap(), keys.len());
        let plain = command.as_std();
        let mut inside = pty_process::Command::new(plain.get_program())
            .args(plain.get_args())
            .current_dir(plain.get_current_dir().unwrap())
            .env_clear()
            .env("TERM", "xterm")
            .kill_on_drop(true);
        for (name, value) in plain.get_envs() {
            if let Some(value) = value {
                inside = inside.env(name, value);
            }
        }
        let child = inside.spawn(pts).unwrap();
        let (mut output, keys) = pty.into_split();
        let (tell, screen) = watch::channel(String::new());
        let reading = tokio::spawn(async move {
            let mut chunk = [0; 4096];
            let mut come = Vec::new();
            // Reading fails once the last process has closed the terminal.
            while let Ok(count @ 1..) = output.read(&mut chunk).await {
                come.extend_from_slice(&chunk[..count]);
                // The rest of a multi-byte character may still arrive.
                let whole = match std::str::from_utf8(&come) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => come.len(),
                };
                let text: Vec<u8> = come.drain(..whole).collect();
                let text = String::from_utf8_lossy(&text);
                tell.send_modify(|screen| screen.push_str(&text));
            }
        });
        Self { child, keys, screen, reading }
    }

    /// Returns the output so far, including escape sequences.
    pub fn screen(&self) -> String {
        self.screen.borrow().clone()
    }

    pub async fn until(&self, text: &str) {
        let mut screen = self.screen.clone();
        let shown = timeout(SOON, screen.wait_for(|screen| screen.contains(text))).await;
        let is_shown = matches!(shown, Ok(Ok(_)));
        assert!(is_shown, "`{text}` did not come:\n{}", self.screen());
    }

    pub async fn press(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).await.unwrap();
    }

    pub async fn end(mut self) -> (ExitStatus, String) {
        let status = timeout(SOON, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("ade does not end:\n{}", self.screen()));
        let _ = timeout(Duration::from_secs(5), &mut self.reading).await;
        (status.unwrap(), self.screen())
    }
}
