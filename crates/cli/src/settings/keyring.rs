//! The keyring of the desktop, by the program that comes with it. It asks on the screen if it is
//! locked, which nobody may see; so it has a bound, and whoever waits is told.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ade_core::limits::CLI_KEYRING_TIMEOUT;

const PROGRAM: &str = "secret-tool";

/// A secret goes in by standard input: every list of processes shows arguments.
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
        .map_err(|error| format!("`{PROGRAM}` cannot be run: {error}"))?;
    let answered = answer(&mut child, input, within);
    if answered.is_none() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let Some((told, complaint)) = answered else {
        return Err(format!("it did not answer within {within:?}: it may be locked"));
    };
    // What is not there ends with a failure too, and says nothing.
    if status.success() || complaint.is_empty() { Ok(told) } else { Err(complaint) }
}

/// What it says, on either way out; nothing if it says nothing in time.
fn answer(child: &mut Child, input: &str, within: Duration) -> Option<(String, String)> {
    let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
    let mut stderr = child.stderr.take()?;
    let input = input.to_owned();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        // One that has ended already says why below.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let (mut said, mut complaint) = (String::new(), String::new());
        let _ = stdout.read_to_string(&mut said);
        let _ = stderr.read_to_string(&mut complaint);
        let _ = tell.send((said.trim().to_owned(), complaint.trim().to_owned()));
    });
    told.recv_timeout(within).ok()
}
