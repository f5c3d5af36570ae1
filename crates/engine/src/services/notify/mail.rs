//! Sends mail over SMTP through the configured server: plain text, one recipient. A permanent error
//! of the server is final; all other errors are retried.

use ade_core::limits::MESSAGE_TIMEOUT;
use lettre::address::{Address, AddressError};
use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use thiserror::Error;

use super::message::{NotificationMessage, Recipient, Unsent};

type Transport = AsyncSmtpTransport<Tokio1Executor>;

#[derive(Debug, Error)]
pub enum MailError {
    #[error("the mail server URL is invalid: {0}")]
    Server(#[from] lettre::transport::smtp::Error),
    #[error("the sender `{from}` is not a mail address: {problem}")]
    From { from: String, problem: String },
}

pub struct Mailer {
    transport: Transport,
    from: Mailbox,
}

/// Omits the server's address, which may contain a password.
impl std::fmt::Debug for Mailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailer").field("from", &self.from).finish_non_exhaustive()
    }
}

impl Mailer {
    /// Creates a mailer for `smtps://user:password@host` or `smtp://host?tls=required`.
    pub fn new(server: &str, from: &str) -> Result<Self, MailError> {
        let transport = Transport::from_url(server)?.timeout(Some(MESSAGE_TIMEOUT)).build();
        let wrong = |error: AddressError| MailError::From {
            from: from.to_owned(),
            problem: error.to_string(),
        };
        Ok(Self { transport, from: from.parse().map_err(wrong)? })
    }

    pub(super) async fn send(
        &self,
        to: &Recipient,
        notification: &NotificationMessage,
    ) -> Result<(), Unsent> {
        let never = |error: &dyn std::fmt::Display| Unsent::Never(error.to_string());
        let address: Address = to.address.parse().map_err(|error: AddressError| never(&error))?;
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(Some(to.name.clone()), address))
            .subject(notification.subject.clone())
            .header(ContentType::TEXT_PLAIN)
            .body(notification.text())
            .map_err(|error| never(&error))?;
        match self.transport.send(message).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_permanent() => Err(never(&error)),
            Err(error) => Err(Unsent::Later(error.to_string())),
        }
    }
}
