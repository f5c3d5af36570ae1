//! A page in the browser of this machine.

use std::process::Stdio;

use tokio::process::Command;

use crate::output::Output;

const OPENER: &str = "xdg-open";

/// Its own words do not belong on this terminal. That it cannot be started is no reason to stop:
/// the page can be opened anywhere.
pub fn open(page: &str, output: &Output) {
    let is_page = page.starts_with("https://") || page.starts_with("http://");
    let opener = std::env::var_os("BROWSER").filter(|value| !value.is_empty());
    let started = is_page.then(|| {
        Command::new(opener.unwrap_or_else(|| OPENER.into()))
            .arg(page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    });
    if !matches!(started, Some(Ok(_))) {
        output.remark(&output.talk.yellow("! No browser can be started here: open it yourself."));
    }
}
