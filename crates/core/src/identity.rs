//! People as an identity provider knows them: the validation of claims, the roles that follow from
//! groups, and the pages a browser may return to after sign-in.

use std::collections::{BTreeMap, BTreeSet};

use crate::actor::Role;
use crate::limits::{ID_TOKEN_LEEWAY, ID_TOKEN_MAX_AGE, IDENTITY_MAX_BYTES, RETURN_TO_MAX_BYTES};

/// The default page after sign-in.
pub const HOME: &str = "/";

/// The claims of an ID token whose signature is valid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    pub issuer: String,
    pub subject: String,
    pub audience: Vec<String>,
    /// The authorized party, required if there is more than one audience.
    pub authorized_party: Option<String>,
    pub nonce: Option<String>,
    /// The expiry, in seconds since 1970, like the other times.
    pub expires_at: Option<u64>,
    pub issued_at: Option<u64>,
    pub not_before: Option<u64>,
}

/// The values that the claims must match.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedClaims<'a> {
    pub issuer: &'a str,
    pub client: &'a str,
    pub nonce: &'a str,
    /// The current time in seconds since 1970.
    pub now: u64,
}

/// Why the claims are rejected. For the log; the person only learns that the sign-in failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenRejection {
    #[error("the ID token was issued by another issuer")]
    Issuer,
    #[error("the ID token has no subject, or one that is too long")]
    Subject,
    #[error("the ID token has another audience")]
    Audience,
    #[error("the ID token was issued to another authorized party")]
    Party,
    #[error("the ID token belongs to another sign-in")]
    Nonce,
    #[error("the ID token has expired or has no expiry")]
    Expired,
    #[error("the ID token was issued too long ago or has no issue time")]
    Old,
    #[error("the ID token was issued in the future")]
    Future,
}

impl Claims {
    pub fn believe(&self, expected: &ExpectedClaims<'_>) -> Result<(), IdTokenRejection> {
        let leeway = ID_TOKEN_LEEWAY.as_secs();
        let now = expected.now;
        if self.issuer != expected.issuer {
            return Err(IdTokenRejection::Issuer);
        }
        if self.subject.is_empty() || self.subject.len() > IDENTITY_MAX_BYTES {
            return Err(IdTokenRejection::Subject);
        }
        if !self.audience.iter().any(|one| one == expected.client) {
            return Err(IdTokenRejection::Audience);
        }
        // Other audiences of the token could present it as their own unless it names the authorized
        // party.
        match self.authorized_party.as_deref() {
            Some(party) if party != expected.client => return Err(IdTokenRejection::Party),
            None if self.audience.len() > 1 => return Err(IdTokenRejection::Party),
            _ => {}
        }
        if self.nonce.as_deref() != Some(expected.nonce) {
            return Err(IdTokenRejection::Nonce);
        }
        if self.expires_at.is_none_or(|at| at.saturating_add(leeway) <= now) {
            return Err(IdTokenRejection::Expired);
        }
        let Some(issued_at) = self.issued_at else { return Err(IdTokenRejection::Old) };
        if issued_at.saturating_add(ID_TOKEN_MAX_AGE.as_secs() + leeway) < now {
            return Err(IdTokenRejection::Old);
        }
        let begins = issued_at.max(self.not_before.unwrap_or_default());
        if begins > now.saturating_add(leeway) {
            return Err(IdTokenRejection::Future);
        }
        Ok(())
    }
}

/// Returns the roles of a person who signs in. Roles granted by any group follow the groups only;
/// all others stay as an admin set them.
pub fn roles_of(
    present: &BTreeSet<Role>,
    mapping: &BTreeMap<String, BTreeSet<Role>>,
    groups: &BTreeSet<String>,
) -> BTreeSet<Role> {
    let is_given = |role: &&Role| mapping.values().any(|roles| roles.contains(*role));
    let kept = present.iter().filter(|role| !is_given(role));
    let given = mapping.iter().filter(|(group, _)| groups.contains(*group));
    kept.chain(given.flat_map(|(_, roles)| roles)).cloned().collect()
}

/// Returns the wanted page if it is local, and the home page otherwise: an open redirect would lend
/// our name to others.
pub fn return_to(wanted: &str) -> &str {
    let is_ours = wanted.starts_with('/')
        // `//host` and `/\host` are other hosts to a browser, which also drops tabs and line ends.
        && !wanted.starts_with("//")
        && wanted.len() <= RETURN_TO_MAX_BYTES
        && wanted.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_ours { wanted } else { HOME }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 1_800_000_000;
    const EXPECTED: ExpectedClaims<'static> =
        ExpectedClaims { issuer: "https://id.example", client: "ade", nonce: "n", now: NOW };

    fn good() -> Claims {
        Claims {
            issuer: "https://id.example".to_owned(),
            subject: "ada".to_owned(),
            audience: vec!["ade".to_owned()],
            authorized_party: None,
            nonce: Some("n".to_owned()),
            expires_at: Some(NOW + 300),
            issued_at: Some(NOW),
            not_before: None,
        }
    }

    #[test]
    fn sign_in_claims_are_accepted_only_if_all_match() {
        let shared = || vec!["ade".to_owned(), "other".to_owned()];
        let party = |name: &str| Some(name.to_owned());
        assert_eq!(good().believe(&EXPECTED), Ok(()));
        let cases = [
            (Claims { issuer: "https://id.example/".into(), ..good() }, IdTokenRejection::Issuer),
            (Claims { issuer: String::new(), ..good() }, IdTokenRejection::Issuer),
            (Claims { subject: String::new(), ..good() }, IdTokenRejection::Subject),
            (
                Claims { subject: "s".repeat(IDENTITY_MAX_BYTES + 1), ..good() },
                IdTokenRejection::Subject,
            ),
            (Claims { audience: Vec::new(), ..good() }, IdTokenRejection::Audience),
            (Claims { audience: vec!["other".into()], ..good() }, IdTokenRejection::Audience),
            (Claims { audience: shared(), ..good() }, IdTokenRejection::Party),
            (Claims { authorized_party: party("other"), ..good() }, IdTokenRejection::Party),
            (Claims { nonce: None, ..good() }, IdTokenRejection::Nonce),
            (Claims { nonce: party(""), ..good() }, IdTokenRejection::Nonce),
            (Claims { nonce: party("m"), ..good() }, IdTokenRejection::Nonce),
            (Claims { expires_at: None, ..good() }, IdTokenRejection::Expired),
            (Claims { expires_at: Some(NOW - 60), ..good() }, IdTokenRejection::Expired),
            (Claims { issued_at: None, ..good() }, IdTokenRejection::Old),
            (Claims { issued_at: Some(NOW - 661), ..good() }, IdTokenRejection::Old),
            (Claims { issued_at: Some(NOW + 61), ..good() }, IdTokenRejection::Future),
            (Claims { not_before: Some(NOW + 61), ..good() }, IdTokenRejection::Future),
        ];
        for (claims, why) in cases {
            assert_eq!(claims.believe(&EXPECTED), Err(why), "{claims:?}");
        }
        let both = Claims { audience: shared(), authorized_party: party("ade"), ..good() };
        assert_eq!(both.believe(&EXPECTED), Ok(()));
        let edges = Claims {
            expires_at: Some(NOW - 59),
            issued_at: Some(NOW - 660),
            not_before: Some(NOW + 60),
            ..good()
        };
        assert_eq!(edges.believe(&EXPECTED), Ok(()), "clocks may differ by a minute");
    }

    #[test]
    fn sign_in_return_path_is_local_only() {
        for ours in ["/", "/tasks/t-1", "/inbox?filter=risk:%3E60#top"] {
            assert_eq!(return_to(ours), ours);
        }
        let long = format!("/{}", "a".repeat(RETURN_TO_MAX_BYTES));
        for elsewhere in [
            "",
            "tasks",
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "/ /evil",
            "javascript:alert(1)",
            "/h\u{e9}",
            &long,
        ] {
            assert_eq!(return_to(elsewhere), HOME, "{elsewhere:?}");
        }
    }

    fn roles() -> impl Strategy<Value = BTreeSet<Role>> {
        proptest::collection::btree_set("[a-d]".prop_map(Role::new), 0..4)
    }

    proptest! {
        #[test]
        fn group_mapping_manages_only_its_own_roles(
            present in roles(),
            mapping in proptest::collection::btree_map("[g-j]", roles(), 0..4),
            groups in proptest::collection::btree_set("[g-k]", 0..4),
        ) {
            let found = roles_of(&present, &mapping, &groups);
            for role in ["a", "b", "c", "d"].map(Role::new) {
                let giving = mapping.iter().filter(|(_, roles)| roles.contains(&role));
                let (mut is_mapped, mut is_given) = (false, false);
                for (group, _) in giving {
                    is_mapped = true;
                    is_given |= groups.contains(group);
                }
                let expected = if is_mapped { is_given } else { present.contains(&role) };
                prop_assert_eq!(found.contains(&role), expected);
            }
            prop_assert_eq!(roles_of(&found, &mapping, &groups), found, "idempotent");
        }
    }
}
