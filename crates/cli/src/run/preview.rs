//! `--preview CMD`: a command that prints the planned changes. It runs before the review and again
//! under the locks.

use std::process::{ExitStatus, Stdio};

use ade_api::tasks::Plan;
use ade_core::limits::{PAYLOAD_MAX_BYTES, RUN_PREVIEW_TIMEOUT};
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;

use super::environment::Environment;
use super::group::ProcessGroup;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::quoted;

/// Runs the preview command. Dropping the future ends its processes.
pub async fn preview(command: &str, environment: &Environment) -> Result<Plan, Failure> {
    let wrong = |what: String| {
        Failure::new(Exit::Failed, what).or_next(format!("sh -c {}", quoted(command)))
    };
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .env_clear()
        .envs(environment.variables())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut group = ProcessGroup::spawn(&mut shell)
        .map_err(|error| wrong(format!("cannot start the preview: {error}")))?;
    let printed = timeout(RUN_PREVIEW_TIMEOUT, printed(&mut group)).await.map_err(|_| {
        wrong(format!("the preview did not end within {} s", RUN_PREVIEW_TIMEOUT.as_secs()))
    })?;
    let (status, bytes) =
        printed.map_err(|error| wrong(format!("cannot read the preview: {error}")))?;
    if !status.success() {
        return Err(wrong(format!("the preview failed: {status}")));
    }
    if bytes.len() > PAYLOAD_MAX_BYTES {
        return Err(wrong(format!("the preview printed more than {PAYLOAD_MAX_BYTES} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        wrong("the preview did not print a plan".to_owned()).detail(format!(
            "{error}; it must print {{\"changes\":[…],\"warnings\":[…]}} and nothing else"
        ))
    })
}

async fn printed(group: &mut ProcessGroup) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let bytes = match group.streams().1 {
        Some(output) => read(output).await?,
        None => Vec::new(),
    };
    Ok((group.wait().await?, bytes))
}

/// Reads one byte more than allowed to detect excess output. The rest is read and discarded,
/// because a command that cannot print cannot end.
async fn read(mut output: ChildStdout) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(PAYLOAD_MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    (&mut output).take(bound).read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut output, &mut tokio::io::sink()).await?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment::select(&[], [("PATH".into(), "/usr/bin:/bin".into())]).unwrap()
    }

    async fn refused(command: &str) -> String {
        let failure = preview(command, &environment()).await.unwrap_err();
        failure.shown(crate::output::Paint::OFF)
    }

    #[tokio::test]
    async fn preview_output_is_the_plan() {
        let change = r#"{"resource":"host:a","action":"add","irreversible":false,"summary":"x"}"#;
        let command = format!("echo '{{\"changes\":[{change}],\"warnings\":[\"w\"]}}'");
        let plan = preview(&command, &environment()).await.unwrap();
        assert_eq!((plan.changes.len(), plan.warnings.len()), (1, 1));
    }

    #[tokio::test]
    async fn preview_failure_names_the_command_to_try() {
        for (command, says) in [
            ("exit 3", "the preview failed: exit status: 3"),
            ("echo hello", "did not print a plan"),
            (r#"echo '{"changes":[],"state":"APPROVED"}'"#, "unknown field `state`"),
            ("yes | head -c 300000", "more than 262144 bytes"),
        ] {
            let message = refused(command).await;
            assert!(message.contains(says), "{message}");
            assert!(message.contains("next     sh -c '"), "{message}");
        }
    }
}
