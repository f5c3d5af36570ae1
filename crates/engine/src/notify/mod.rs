//! Messages to people outside of the product: by mail and in Slack. A message is plain text with a
//! link; what a task says is shown as text and never as markup, and nothing that comes back decides
//! anything.

mod letter;
mod mail;
mod slack;

pub use letter::{Letter, Line};
pub use mail::{MailError, Mailer};
pub use slack::{Interaction, Slack, SlackError};

use ade_core::preference::Channel;

/// Whom a letter is for, on its channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub name: String,
    pub address: String,
}

/// Why a letter was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsent {
    /// It may be taken later.
    Later(String),
    /// Whoever it is for cannot be reached, however often it is tried.
    Never(String),
}

impl Unsent {
    pub fn problem(&self) -> &str {
        match self {
            Self::Later(problem) | Self::Never(problem) => problem,
        }
    }
}

/// What this installation can send with.
#[derive(Debug, Default)]
pub struct Notify {
    pub mail: Option<Mailer>,
    pub slack: Option<Slack>,
    /// Where the product is found by people, without a slash at the end.
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
        letter: &Letter,
    ) -> Result<(), Unsent> {
        let off = || Unsent::Later("this channel is not configured".to_owned());
        match channel {
            Channel::Mail => self.mail.as_ref().ok_or_else(off)?.send(to, letter).await,
            Channel::Slack => self.slack.as_ref().ok_or_else(off)?.send(to, letter).await,
        }
    }
}
