//! The desktop keyring, accessed through `secret-tool`. A locked keyring shows a prompt that the
//! user may not see, so every call has a timeout.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ade_core::limits::CLI_KEYRING_TIMEOUT;

const PROGRAM: &str = "secret-tool";

/// Stores a token. It is passed on standard input, because process listings show arguments.
pub fn keep(profile: &str, token: &str) -> Result<(), String> {
    let label = format!("--label=ade, profile {profile}");
    spoken(&["store", &label], profile, token, CLI_KEYRING_TIMEOUT).map(drop)
}

pub fn look_up(profile: &str, within: Duration) -> Result<Option<String>, String> {
    let found = spoken(&["lookup"], profile, "", within)?;
    Ok(Some(found).filter(|token| !token.is_empty()))
}

pub fn forget(profile: &str) -> Result<(), String> {
    spoken(&["clear"], profile, "", CLI_KEYRING_TIMEOUT).map(drop)
}

fn spoken(verb: &[&str], profile: &str, input: &str, within: Duration) -> Result<String, String> {
    let mut child = Command::new(PROGRAM)
        .args(verb)
        .args(["service", "ade", "profile", profile])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run `{PROGRAM}`: {error}"))?;
    let answered = answer(&mut child, input, within);
    if answered.is_none() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let Some((printed, complaint)) = answered else {
        return Err(format!("it did not respond within {within:?}; it may be locked"));
    };
    // A missing entry also ends with a failure, but without a message.
    if status.success() || complaint.is_empty() { Ok(printed) } else { Err(complaint) }
}

/// Returns standard output and standard error of the program, or `None` on a timeout.
fn answer(child: &mut Child, input: &str, within: Duration) -> Option<(String, String)> {
    let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
    let mut stderr = child.stderr.take()?;
    let input = input.to_owned();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // A program that ended early reports why on standard error.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let (mut printed, mut complaint) = (String::new(), String::new());
        let _ = stdout.read_to_string(&mut printed);
        let _ = stderr.read_to_string(&mut complaint);
        let _ = sender.send((printed.trim().to_owned(), complaint.trim().to_owned()));
    });
    receiver.recv_timeout(within).ok()
}
