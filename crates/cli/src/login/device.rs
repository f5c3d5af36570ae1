//! Being let in from a browser: the page and the code are shown, then the server is asked at its
//! pace until somebody has answered, the time is over, or this is interrupted.

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
/// As long as a name of a machine gets, with room for ours before it.
const HOST_MAX_CHARS: usize = 64;

#[derive(Debug)]
pub enum Ended {
    LetIn(String),
    Interrupted(Exit),
}

pub async fn token(server: &str, is_opened: bool, output: &Output) -> Result<Ended, Failure> {
    let client = Client::stranger(server)?;
    let begun = client.device().begin(&NewDeviceLogin { client_name: Some(name()) }).await?;
    show(&begun, output)?;
    if is_opened {
        open(&begun.verification_uri_complete, output);
    }
    let mut interrupts = Interrupts::listen()?;
    let mut progress = output.is_talking().then(|| Progress::new(output.talk));
    if let Some(progress) = &mut progress {
        progress.awaits("waiting", "for somebody to let this terminal in; Ctrl-C gives up");
    }
    let ended = interrupts.during(wait(&client, &begun)).await;
    drop(progress);
    match ended {
        Ok(token) => Ok(Ended::LetIn(token?.access_token)),
        Err(signal) => {
            output.remark("Nobody has let this terminal in, and nothing is kept.");
            Ok(Ended::Interrupted(interrupt::exit(signal)))
        }
    }
}

/// All but the code that is nobody's business.
fn show(begun: &DeviceLogin, output: &Output) -> Result<(), Failure> {
    let told = json!({
        "user_code": begun.user_code,
        "verification_uri": begun.verification_uri,
        "verification_uri_complete": begun.verification_uri_complete,
        "expires_in": begun.expires_in,
    });
    output.line(&told, || {
        let rows = [
            ("open", visible(&begun.verification_uri)),
            ("code", output.paint.bold(&visible(&begun.user_code))),
            ("or", visible(&begun.verification_uri_complete)),
        ];
        output.facts("Let this terminal in from a browser", &rows)
    })
}

/// For ten minutes at most, whatever a server says.
async fn wait(client: &Client, begun: &DeviceLogin) -> Result<DeviceToken, Failure> {
    let ends = Instant::now() + Duration::from_secs(begun.expires_in).min(DEVICE_LOGIN_TTL);
    let mut pace = Duration::from_secs(begun.interval).clamp(DEVICE_POLL_PACE, DEVICE_LOGIN_TTL);
    while Instant::now() + pace < ends {
        sleep(pace).await;
        match client.device().token(&begun.device_code).await {
            Ok(token) => return Ok(token),
            Err(error) if error.is(Code::AuthorizationPending) => {}
            Err(error) if error.is(Code::SlowDown) => pace = slower(pace, &error),
            // A server that is away for a moment has forgotten nothing.
            Err(error) if error.is_passing() => {}
            Err(error) => return Err(Failure::from(error).or_next("ade login")),
        }
    }
    Err(Failure::new(Exit::TimedOut, "nobody has let this terminal in in time")
        .detail(format!("its code was {}", begun.user_code))
        .or_next("ade login"))
}

/// As the server says, and never faster than before.
fn slower(pace: Duration, error: &Error) -> Duration {
    let told = error.refusal().and_then(|refusal| refusal.facts.get("interval"));
    let told = told.and_then(Value::as_u64).map(Duration::from_secs).unwrap_or_default();
    told.max(pace + DEVICE_POLL_PACE).min(DEVICE_LOGIN_TTL)
}

/// Told to the person who decides; they know their own machine by it.
fn name() -> String {
    let host = std::fs::read_to_string(HOST).unwrap_or_default();
    let host: String = host.trim().chars().filter(char::is_ascii).take(HOST_MAX_CHARS).collect();
    if host.is_empty() { "ade".to_owned() } else { format!("ade on {host}") }
}

#[cfg(test)]
mod tests {
    use ade_api::problem::NextAction;
    use ade_client::Refusal;

    use super::*;

    fn told(interval: Value) -> Error {
        Error::Refused(Box::new(Refusal {
            code: Code::SlowDown.as_str().to_owned(),
            title: String::new(),
            status: 400,
            detail: String::new(),
            retriable: true,
            next_action: NextAction { says: String::new(), call: None, command: None },
            request_id: String::new(),
            facts: [("interval".to_owned(), interval)].into(),
        }))
    }

    #[test]
    fn who_is_told_to_slow_down_does() {
        let five = Duration::from_secs(5);
        assert_eq!(slower(five, &told(json!(15))).as_secs(), 15);
        assert_eq!(slower(five, &told(json!(1))).as_secs(), 10, "whatever it says");
        assert_eq!(slower(five, &told(json!("soon"))).as_secs(), 10);
        assert_eq!(slower(five, &told(json!(u64::MAX))), DEVICE_LOGIN_TTL);
    }

    #[test]
    fn a_terminal_is_called_by_its_machine() {
        assert!(name().starts_with("ade"), "{}", name());
        assert!(name().len() <= ade_core::limits::NAME_MAX_BYTES);
    }
}
