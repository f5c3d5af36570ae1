//! Validates the response of a passkey: a browser put this challenge to it, on a page of this
//! installation, and it verified the user. The signature is verified elsewhere.

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
/// The length of the authenticator model id, which is skipped.
const MODEL_BYTES: usize = 16;

/// The relying party: the host name of this installation, to which passkeys are bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    id: String,
    origin: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("passkeys require a page served over https under a host name, or http://localhost")]
pub struct NoParty;

impl Party {
    /// Derives the relying party from an address such as `https://ade.example.org`.
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

/// Returns whether the host is a name and not an address: the last label of a name is not a number.
fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.split('.').all(is_label) && last.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The kind of request to the passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceremony {
    Create,
    Get,
}

#[derive(Debug, Clone, Copy)]
pub struct ExpectedCeremony<'a> {
    pub ceremony: Ceremony,
    pub challenge: &'a Digest,
    pub party: &'a Party,
}

/// Why a response is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PasskeyRejection {
    #[error("the browser's client data cannot be parsed")]
    Unreadable,
    #[error("the response is of the wrong type")]
    Kind,
    #[error("the response answers another challenge")]
    Challenge,
    #[error("the response comes from a page of another origin")]
    Origin,
    #[error("the response was given inside a cross-origin frame")]
    Framed,
    #[error("the response is for another installation")]
    Party,
    #[error("the user was not present")]
    Absent,
    #[error("the passkey did not verify the user: set a PIN, or use a fingerprint")]
    Unverified,
    #[error("the response is inconsistent")]
    Contradiction,
    #[error("the response has no credential id, or one that is too long")]
    Credential,
}

/// The client data of the browser. Further fields are ignored.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin", default)]
    is_framed: bool,
}

/// The verified data of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified<'a> {
    /// The signature counter; 0 for a passkey that does not count.
    pub counter: u32,
    /// The id of the new credential.
    pub credential: Option<&'a [u8]>,
}

pub fn believe<'a>(
    client_data: &[u8],
    authenticator_data: &'a [u8],
    expected: &ExpectedCeremony<'_>,
) -> Result<Verified<'a>, PasskeyRejection> {
    believe_browser(client_data, expected)?;
    let (party, rest) =
        authenticator_data.split_first_chunk().ok_or(PasskeyRejection::Unreadable)?;
    let (flags, rest) = rest.split_first().ok_or(PasskeyRejection::Unreadable)?;
    let (counter, rest) = rest.split_first_chunk::<4>().ok_or(PasskeyRejection::Unreadable)?;
    if Digest::from_bytes(*party) != Digest::of(expected.party.id.as_bytes()) {
        return Err(PasskeyRejection::Party);
    }
    let says = |flag: u8| flags & flag != 0;
    if !says(PRESENT) {
        return Err(PasskeyRejection::Absent);
    }
    if !says(VERIFIED) {
        return Err(PasskeyRejection::Unverified);
    }
    if says(IS_COPIED) && !says(MAY_BE_COPIED) {
        return Err(PasskeyRejection::Contradiction);
    }
    let credential = match expected.ceremony {
        Ceremony::Get => None,
        Ceremony::Create => {
            let named = Some(rest).filter(|_| says(NAMES_CREDENTIAL)).and_then(credential_of);
            Some(named.ok_or(PasskeyRejection::Credential)?)
        }
    };
    Ok(Verified { counter: u32::from_be_bytes(*counter), credential })
}

fn believe_browser(
    client_data: &[u8],
    expected: &ExpectedCeremony<'_>,
) -> Result<(), PasskeyRejection> {
    let said: ClientData =
        serde_json::from_slice(client_data).map_err(|_| PasskeyRejection::Unreadable)?;
    let kind = match expected.ceremony {
        Ceremony::Create => "webauthn.create",
        Ceremony::Get => "webauthn.get",
    };
    if said.kind != kind {
        return Err(PasskeyRejection::Kind);
    }
    if said.challenge != URL_SAFE_NO_PAD.encode(expected.challenge.bytes()) {
        return Err(PasskeyRejection::Challenge);
    }
    if said.origin != expected.party.origin {
        return Err(PasskeyRejection::Origin);
    }
    if said.is_framed {
        return Err(PasskeyRejection::Framed);
    }
    Ok(())
}

/// Returns the credential id. The key follows it, but is taken from the browser in a form that the
/// crypto library reads.
fn credential_of(named: &[u8]) -> Option<&[u8]> {
    let (_, rest) = named.split_at_checked(MODEL_BYTES)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (credential, _) = rest.split_at_checked(length)?;
    (1..=CREDENTIAL_MAX_BYTES).contains(&length).then_some(credential)
}

/// Returns whether the counter has increased. If it has not, the key may have been copied. Many
/// passkeys never count.
pub const fn counts_on(before: u32, now: u32) -> bool {
    now > before || (now == 0 && before == 0)
}

#[cfg(test)]
#[path = "passkey_tests.rs"]
mod tests;
