//! Device login: shows the URL and the code, then polls the server at the interval it requests
//! until the login is confirmed, denied, expired or interrupted.

use std::time::Duration;

use ade_api::code::Code;
use ade_api::device::{DeviceLogin, DeviceToken, NewDeviceLogin};
use ade_client::{Client, Error};
use ade_core::limits::{DEVICE_LOGIN_TTL, DEVICE_POLL_PACE};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::browser::open;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Progress;
use crate::run::interrupt::{self, Interrupts};
use crate::text::visible;

const HOST: &str = "/proc/sys/kernel/hostname";
/// The maximum length of the host name in the client name.
const HOST_MAX_CHARS: usize = 64;

#[derive(Debug)]
pub enum DeviceLoginEnd {
    LetIn(String),
    Interrupted(Exit),
}

pub async fn token(
    server: &str,
    is_opened: bool,
    output: &Output,
) -> Result<DeviceLoginEnd, Failure> {
    let client = Client::stranger(server)?;
    let begun = client.device().begin(&NewDeviceLogin { client_name: Some(name()) }).await?;
    show(&begun, output)?;
    if is_opened {
        open(&begun.verification_uri_complete, output);
    }
    let mut interrupts = Interrupts::listen()?;
    let mut progress = output.is_talking().then(|| Progress::new(output.talk));
    if let Some(progress) = &mut progress {
        progress.awaits("waiting", "for confirmation in the browser; Ctrl-C cancels");
    }
    let ended = interrupts.during(wait(&client, &begun)).await;
    drop(progress);
    match ended {
        Ok(token) => Ok(DeviceLoginEnd::LetIn(token?.access_token)),
        Err(signal) => {
            output.remark("Login cancelled; no token was stored.");
            Ok(DeviceLoginEnd::Interrupted(interrupt::exit(signal)))
        }
    }
}

/// Shows the URL and the user code, but not the secret device code.
fn show(begun: &DeviceLogin, output: &Output) -> Result<(), Failure> {
    let prompt = json!({
        "user_code": begun.user_code,
        "verification_uri": begun.verification_uri,
        "verification_uri_complete": begun.verification_uri_complete,
        "expires_in": begun.expires_in,
    });
    output.line(&prompt, || {
        let rows = [
            ("open", visible(&begun.verification_uri)),
            ("code", output.paint.bold(&visible(&begun.user_code))),
            ("or", visible(&begun.verification_uri_complete)),
        ];
        output.facts("Confirm this login in a browser", &rows)
    })
}

/// Polls until the login ends, for at most ten minutes.
async fn wait(client: &Client, begun: &DeviceLogin) -> Result<DeviceToken, Failure> {
    let ends = Instant::now() + Duration::from_secs(begun.expires_in).min(DEVICE_LOGIN_TTL);
    let mut pace = Duration::from_secs(begun.interval).clamp(DEVICE_POLL_PACE, DEVICE_LOGIN_TTL);
    while Instant::now() + pace < ends {
        sleep(pace).await;
        match client.device().token(&begun.device_code).await {
            Ok(token) => return Ok(token),
            Err(error) if error.is(Code::AuthorizationPending) => {}
            Err(error) if error.is(Code::SlowDown) => pace = slower(pace, &error),
            // The login survives a short outage of the server.
            Err(error) if error.is_passing() => {}
            Err(error) => return Err(Failure::from(error).or_next("ade login")),
        }
    }
    Err(Failure::new(Exit::TimedOut, "the login was not confirmed in time")
        .detail(format!("the code was {}", begun.user_code))
        .or_next("ade login"))
}

/// Returns the new polling interval: the one the server requests, and never a shorter one.
fn slower(pace: Duration, error: &Error) -> Duration {
    let requested = error.refusal().and_then(|refusal| refusal.facts.get("interval"));
    let requested = requested.and_then(Value::as_u64).map(Duration::from_secs).unwrap_or_default();
    requested.max(pace + DEVICE_POLL_PACE).min(DEVICE_LOGIN_TTL)
}

/// Returns the client name that is shown to the user who confirms the login.
fn name() -> String {
    let host = std::fs::read_to_string(HOST).unwrap_or_default();
    let host: String = host.trim().chars().filter(char::is_ascii).take(HOST_MAX_CHARS).collect();
    if host.is_empty() { "ade".to_owned() } else { format!("ade on {host}") }
}

#[cfg(test)]
mod tests {
    use ade_api::problem::NextAction;
    use ade_client::ProblemDetails;

    use super::*;

    fn slow_down(interval: Value) -> Error {
        Error::Refused(Box::new(ProblemDetails {
            code: Code::SlowDown.as_str().to_owned(),
            title: String::new(),
            status: 400,
            detail: String::new(),
            retriable: true,
            next_action: NextAction { message: String::new(), call: None, command: None },
            request_id: String::new(),
            facts: [("interval".to_owned(), interval)].into(),
        }))
    }

    #[test]
    fn device_poll_slows_down_as_the_server_asks() {
        let five = Duration::from_secs(5);
        assert_eq!(slower(five, &slow_down(json!(15))).as_secs(), 15);
        assert_eq!(slower(five, &slow_down(json!(1))).as_secs(), 10, "never faster than before");
        assert_eq!(slower(five, &slow_down(json!("soon"))).as_secs(), 10);
        assert_eq!(slower(five, &slow_down(json!(u64::MAX))), DEVICE_LOGIN_TTL);
    }

    #[test]
    fn device_name_is_the_host_name() {
        assert!(name().starts_with("ade"), "{}", name());
        assert!(name().len() <= ade_core::limits::NAME_MAX_BYTES);
    }
}
