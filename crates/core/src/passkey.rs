//! What is believed of a passkey's answer: a browser has put this very question to it, on a page of
//! ours, and it has made sure of the person. Whether its signature is good is not asked here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use thiserror::Error;

use crate::change::Digest;
use crate::limits::CREDENTIAL_MAX_BYTES;

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const MAY_BE_COPIED: u8 = 0x08;
const IS_COPIED: u8 = 0x10;
const NAMES_CREDENTIAL: u8 = 0x40;
/// Which model an authenticator is: not asked for, so passed over.
const MODEL_BYTES: usize = 16;

/// Where people find this installation, as passkeys know it: they answer to this name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    id: String,
    origin: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("browsers offer passkeys to pages over https under a name, or at http://localhost")]
pub struct NoParty;

impl Party {
    /// `page` is an address such as `https://ade.example.org`.
    pub fn of_page(page: &str) -> Result<Self, NoParty> {
        let (scheme, rest) = page.split_once("://").ok_or(NoParty)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
        let usual = match scheme.as_str() {
            "https" => "443",
            "http" if host == "localhost" || host.ends_with(".localhost") => "80",
            _ => return Err(NoParty),
        };
        if !is_name(&host) || port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return Err(NoParty);
        }
        let origin = match port.filter(|port| *port != usual) {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        };
        Ok(Self { id: host, origin })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }
}

/// Of labels, and no address: the last label of a name is not a number.
fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.split('.').all(is_label) && last.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// What the passkey was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceremony {
    Create,
    Get,
}

#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub ceremony: Ceremony,
    pub challenge: &'a Digest,
    pub party: &'a Party,
}

/// Why an answer is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Disbelief {
    #[error("what the browser says cannot be read")]
    Unreadable,
    #[error("it answers another kind of question")]
    Kind,
    #[error("it answers another question")]
    Challenge,
    #[error("it was given on a page that is not ours")]
    Origin,
    #[error("it was given inside a page of somebody else")]
    Framed,
    #[error("it is meant for another installation")]
    Party,
    #[error("nobody was there when it was given")]
    Absent,
    #[error("the passkey has not made sure who was there: set a PIN, or use a fingerprint")]
    Unverified,
    #[error("it contradicts itself")]
    Contradiction,
    #[error("it names no key, or one whose name is too long")]
    Credential,
}

/// Fields that others may add are none of our business.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin", default)]
    is_framed: bool,
}

/// What the passkey says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told<'a> {
    /// How often it has signed; 0 of one that does not count.
    pub counter: u32,
    /// The name of the new key.
    pub credential: Option<&'a [u8]>,
}

pub fn believe<'a>(
    client_data: &[u8],
    authenticator_data: &'a [u8],
    expected: &Expected<'_>,
) -> Result<Told<'a>, Disbelief> {
    believe_browser(client_data, expected)?;
    let (party, rest) = authenticator_data.split_first_chunk().ok_or(Disbelief::Unreadable)?;
    let (flags, rest) = rest.split_first().ok_or(Disbelief::Unreadable)?;
    let (counter, rest) = rest.split_first_chunk::<4>().ok_or(Disbelief::Unreadable)?;
    if Digest::from_bytes(*party) != Digest::of(expected.party.id.as_bytes()) {
        return Err(Disbelief::Party);
    }
    let says = |flag: u8| flags & flag != 0;
    if !says(PRESENT) {
        return Err(Disbelief::Absent);
    }
    if !says(VERIFIED) {
        return Err(Disbelief::Unverified);
    }
    if says(IS_COPIED) && !says(MAY_BE_COPIED) {
        return Err(Disbelief::Contradiction);
    }
    let credential = match expected.ceremony {
        Ceremony::Get => None,
        Ceremony::Create => {
            let named = Some(rest).filter(|_| says(NAMES_CREDENTIAL)).and_then(credential_of);
            Some(named.ok_or(Disbelief::Credential)?)
        }
    };
    Ok(Told { counter: u32::from_be_bytes(*counter), credential })
}

fn believe_browser(client_data: &[u8], expected: &Expected<'_>) -> Result<(), Disbelief> {
    let said: ClientData =
        serde_json::from_slice(client_data).map_err(|_| Disbelief::Unreadable)?;
    let kind = match expected.ceremony {
        Ceremony::Create => "webauthn.create",
        Ceremony::Get => "webauthn.get",
    };
    if said.kind != kind {
        return Err(Disbelief::Kind);
    }
    if said.challenge != URL_SAFE_NO_PAD.encode(expected.challenge.bytes()) {
        return Err(Disbelief::Challenge);
    }
    if said.origin != expected.party.origin {
        return Err(Disbelief::Origin);
    }
    if said.is_framed {
        return Err(Disbelief::Framed);
    }
    Ok(())
}

/// The key itself stands behind its name; it is taken from the browser, in a form that the crypto
/// library reads.
fn credential_of(named: &[u8]) -> Option<&[u8]> {
    let (_, rest) = named.split_at_checked(MODEL_BYTES)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (credential, _) = rest.split_at_checked(length)?;
    (1..=CREDENTIAL_MAX_BYTES).contains(&length).then_some(credential)
}

/// A counter that stands still or goes back was copied: two hold the key. Many never count.
pub const fn counts_on(before: u32, now: u32) -> bool {
    now > before || (now == 0 && before == 0)
}

#[cfg(test)]
#[path = "passkey_tests.rs"]
mod tests;
