//! The context of every command: its output and its connection to the server.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::Path;

use ade_client::Client;
use ade_core::limits::{CLI_FILE_MAX_BYTES, CLI_KEYRING_TIMEOUT};
use serde::de::DeserializeOwned;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::settings;

#[derive(Debug, Clone)]
pub struct Context {
    pub output: Output,
    pub profile: Option<String>,
}

impl Context {
    pub fn client(&self) -> Result<Client, Failure> {
        settings::client(self.profile.as_deref(), CLI_KEYRING_TIMEOUT)
    }

    /// Prints a hint if the list was cut.
    pub fn more(&self, has_more: bool, limit: u32) {
        if has_more {
            let text = format!("More items exist; use -n {}", limit.saturating_mul(2));
            self.output.remark(&self.output.talk.dim(&text));
        }
    }

    /// Asks for confirmation; the default is no. Without a terminal, only `--yes` confirms.
    pub fn confirm(&self, question: &str, is_yes: bool) -> Result<(), Failure> {
        if is_yes {
            return Ok(());
        }
        let answer = self.ask(&format!("{question} [y/N] "))?;
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            return Ok(());
        }
        Err(Failure::new(Exit::Failed, "cancelled; nothing was changed"))
    }

    pub fn ask(&self, question: &str) -> Result<String, Failure> {
        if !std::io::stdin().is_terminal() {
            return Err(Failure::new(
                Exit::Usage,
                "cannot ask for confirmation without a terminal",
            )
            .detail(format!("the question was: {}", question.trim())));
        }
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "{}", self.output.talk.bold(question));
        let _ = err.flush();
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        read.map_err(|error| Failure::new(Exit::Failed, format!("cannot read: {error}")))?;
        Ok(answer)
    }
}

/// Reads a file, or standard input for `-`.
pub fn text_of(path: &Path) -> Result<String, Failure> {
    let failed = |why: String| {
        Failure::new(Exit::Usage, format!("cannot read {}", path.display()))
            .detail(why)
            .or_next(format!("ls -l {}", path.display()))
    };
    let mut text = String::new();
    let bound = CLI_FILE_MAX_BYTES + 1;
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(bound).read_to_string(&mut text)
    } else {
        let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        file.take(bound).read_to_string(&mut text)
    };
    read.map_err(|error| failed(error.to_string()))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > CLI_FILE_MAX_BYTES {
        return Err(failed(format!("the file is larger than {CLI_FILE_MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// Parses a YAML or JSON file; JSON is also valid YAML.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = text_of(path)?;
    let is_json = text.trim_start().starts_with('{');
    let read = if is_json {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    } else {
        serde_saphyr::from_str(&text).map_err(|error| error.to_string())
    };
    read.map_err(|why| {
        Failure::new(Exit::Usage, format!("{} does not have the expected fields", path.display()))
            .detail(why.lines().next().unwrap_or_default().to_owned())
            .or_next("ade api GET /openapi.json --jq '.components.schemas | keys[]'")
    })
}
