//! Typed identifiers: a prefix that names the type, and a UUID in sortable base32. Ids of different
//! types cannot be confused, neither in code nor in a URL. Ids are created outside the core
//! (UUIDv7), so nothing here needs a clock or randomness.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

use crate::text::written_as_text;

/// Crockford's alphabet in lower case. It sorts like the number and leaves out i, l, o and u.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ENCODED_LEN: usize = 26;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    #[error("`{given}` is not a valid id here: it must start with `{prefix}_`")]
    WrongPrefix { given: String, prefix: &'static str },
    #[error("`{given}` is not a valid id: the prefix must be followed by 26 base32 characters")]
    Malformed { given: String },
}

fn encode(uuid: Uuid) -> String {
    let mut rest = uuid.as_u128();
    let mut out = [b'0'; ENCODED_LEN];
    for place in out.iter_mut().rev() {
        let digit = usize::try_from(rest & 31).unwrap_or_default();
        *place = ALPHABET.get(digit).copied().unwrap_or(b'0');
        rest >>= 5;
    }
    out.iter().map(|byte| char::from(*byte)).collect()
}

fn decode(text: &str) -> Option<Uuid> {
    if text.len() != ENCODED_LEN {
        return None;
    }
    let mut number: u128 = 0;
    for byte in text.bytes() {
        let digit = ALPHABET.iter().position(|known| *known == byte)?;
        // 26 digits carry 130 bits: the first digit may only use the lowest three.
        if number >> 123 != 0 {
            return None;
        }
        number = (number << 5) | u128::try_from(digit).ok()?;
    }
    Some(Uuid::from_u128(number))
}

macro_rules! ids {
    ($($(#[$why:meta])* $name:ident = $prefix:literal;)+) => {$(
        $(#[$why])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn from_u128(number: u128) -> Self {
                Self(Uuid::from_u128(number))
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", Self::PREFIX, encode(self.0))
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let encoded = text
                    .strip_prefix(Self::PREFIX)
                    .and_then(|rest| rest.strip_prefix('_'))
                    .ok_or_else(|| IdError::WrongPrefix {
                        given: text.to_owned(),
                        prefix: Self::PREFIX,
                    })?;
                decode(encoded)
                    .map(Self)
                    .ok_or_else(|| IdError::Malformed { given: text.to_owned() })
            }
        }

        written_as_text!($name);
    )+};
}

ids! {
    TenantId = "ten";
    UserId = "usr";
    AgentId = "agt";
    /// The lifetime of one agent or worker process; holds are bound to it.
    ProcessId = "ags";
    /// A session of a person who signed in.
    SessionId = "ses";
    TaskId = "task";
    ApprovalId = "apr";
    VoteId = "vote";
    PolicyId = "pol";
    /// A proposed policy version that is not published yet.
    PolicyDraftId = "pdr";
    /// A change to the rules that waits for a second admin.
    PendingChangeId = "chg";
    DelegationId = "del";
    OverrideId = "ovr";
    /// A review that must follow an override.
    AfterReviewId = "arv";
    NotificationId = "ntf";
    /// An event. The id is the same for every delivery.
    EventId = "evt";
    FreezeId = "frz";
    ExecutionId = "exec";
    /// An audit entry, which is also the receipt of a decision.
    LeafId = "leaf";
    /// A secret of its holder: proof of ownership, idempotency key and fencing identity in one.
    LeaseId = "lease";
    /// An endpoint that receives events.
    WebhookId = "hook";
    /// The delivery of one event to one endpoint.
    DeliveryId = "dlv";
    /// An event that a consumer group could not process.
    DeadEventId = "dead";
    /// A person's on-call duty for a role.
    DutyId = "duty";
    /// An inbound source: another system whose events become drafts.
    InboundId = "inb";
    /// A passkey of a person.
    PasskeyId = "psk";
    /// A passkey confirmation for one decision, from the challenge on.
    StepUpId = "stp";
    /// One call to the server; it appears in the response, the log lines and the audit entries.
    RequestId = "req";
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn id_round_trips_through_its_text(number: u128) {
            let id = TaskId::from_u128(number);
            prop_assert_eq!(id.to_string().parse::<TaskId>(), Ok(id));
        }

        #[test]
        fn id_text_sorts_like_its_number(a: u128, b: u128) {
            let (left, right) = (TaskId::from_u128(a), TaskId::from_u128(b));
            prop_assert_eq!(a.cmp(&b), left.to_string().cmp(&right.to_string()));
        }
    }

    #[test]
    fn id_of_another_kind_is_refused_by_name() {
        let text = UserId::from_u128(7).to_string();
        let refused = text.parse::<TaskId>().unwrap_err();
        assert_eq!(refused, IdError::WrongPrefix { given: text, prefix: "task" });
    }

    #[test]
    fn id_with_too_many_digits_or_bad_letters_is_refused() {
        for encoded in ["8zzzzzzzzzzzzzzzzzzzzzzzzz", "0000000000000000000000000u", "0", ""] {
            assert!(format!("task_{encoded}").parse::<TaskId>().is_err(), "{encoded}");
        }
        assert!("task_7zzzzzzzzzzzzzzzzzzzzzzzzz".parse::<TaskId>().is_ok());
    }
}
