//! Opens pages in the local browser.

use std::process::Stdio;

use tokio::process::Command;

use crate::output::Output;

const OPENER: &str = "xdg-open";

/// Opens a page in the browser and discards the browser's output. A failure is only reported,
/// because the user can open the page elsewhere.
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
        output.remark(&output.talk.yellow("! Could not start a browser. Open the URL yourself."));
    }
}
