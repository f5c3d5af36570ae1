//! Sends messages to people by mail and in Slack. A message is plain text with a link; the text of
//! a task is never interpreted as markup, and no reply decides anything.

mod mail;
mod message;
mod slack;

pub use mail::{MailError, Mailer};
pub use message::{MessageLine, NotificationMessage, Recipient, Unsent};
pub use slack::{Interaction, Slack, SlackError};

use ade_core::preference::Channel;

/// The notification channels of this installation.
#[derive(Debug, Default)]
pub struct Notify {
    pub mail: Option<Mailer>,
    pub slack: Option<Slack>,
    /// The public URL of the product, without a trailing slash.
    pub page: String,
}

impl Notify {
    pub fn is_on(&self, channel: Channel) -> bool {
        match channel {
            Channel::Mail => self.mail.is_some(),
            Channel::Slack => self.slack.is_some(),
        }
    }

    pub async fn send(
        &self,
        channel: Channel,
        to: &Recipient,
        notification: &NotificationMessage,
    ) -> Result<(), Unsent> {
        let off = || Unsent::Later("this channel is not configured".to_owned());
        match channel {
            Channel::Mail => self.mail.as_ref().ok_or_else(off)?.send(to, notification).await,
            Channel::Slack => self.slack.as_ref().ok_or_else(off)?.send(to, notification).await,
        }
    }
}
