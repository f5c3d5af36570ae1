//! People as an identity provider knows them: what is believed of a claim, which roles follow from
//! groups, and where a browser may be sent after signing in.

use std::collections::{BTreeMap, BTreeSet};

use crate::actor::Role;
use crate::limits::{ID_TOKEN_LEEWAY, ID_TOKEN_MAX_AGE, IDENTITY_MAX_BYTES, RETURN_TO_MAX_BYTES};

/// Where somebody lands who says nothing else.
pub const HOME: &str = "/";

/// What an ID token claims, once its signature was found good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    pub issuer: String,
    pub subject: String,
    pub audience: Vec<String>,
    /// The party it was made for, where there is more than one audience.
    pub authorized_party: Option<String>,
    pub nonce: Option<String>,
    /// Seconds since 1970, all three.
    pub expires_at: Option<u64>,
    pub issued_at: Option<u64>,
    pub not_before: Option<u64>,
}

/// What they must say to be believed.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client: &'a str,
    pub nonce: &'a str,
    /// The time of the world, in seconds since 1970.
    pub now: u64,
}

/// Why they are not. For the log; whoever signs in learns only that it did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Disbelief {
    #[error("it is from another issuer")]
    Issuer,
    #[error("it names no subject, or one that is too long")]
    Subject,
    #[error("it is for somebody else")]
    Audience,
    #[error("it was made for another party")]
    Party,
    #[error("it answers another sign-in")]
    Nonce,
    #[error("it has expired, or never does")]
    Expired,
    #[error("it was made too long ago, or says not when")]
    Old,
    #[error("it is from the future")]
    Future,
}

impl Claims {
    pub fn believe(&self, expected: &Expected<'_>) -> Result<(), Disbelief> {
        let leeway = ID_TOKEN_LEEWAY.as_secs();
        let now = expected.now;
        if self.issuer != expected.issuer {
            return Err(Disbelief::Issuer);
        }
        if self.subject.is_empty() || self.subject.len() > IDENTITY_MAX_BYTES {
            return Err(Disbelief::Subject);
        }
        if !self.audience.iter().any(|one| one == expected.client) {
            return Err(Disbelief::Audience);
        }
        // Others who share the token could show it as theirs unless it says whose it is.
        match self.authorized_party.as_deref() {
            Some(party) if party != expected.client => return Err(Disbelief::Party),
            None if self.audience.len() > 1 => return Err(Disbelief::Party),
            _ => {}
        }
        if self.nonce.as_deref() != Some(expected.nonce) {
            return Err(Disbelief::Nonce);
        }
        if self.expires_at.is_none_or(|at| at.saturating_add(leeway) <= now) {
            return Err(Disbelief::Expired);
        }
        let Some(issued_at) = self.issued_at else { return Err(Disbelief::Old) };
        if issued_at.saturating_add(ID_TOKEN_MAX_AGE.as_secs() + leeway) < now {
            return Err(Disbelief::Old);
        }
        let begins = issued_at.max(self.not_before.unwrap_or_default());
        if begins > now.saturating_add(leeway) {
            return Err(Disbelief::Future);
        }
        Ok(())
    }
}

/// The roles of somebody who signs in. Roles that some group gives follow the groups alone; all
/// others are as an admin left them.
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

/// A page of our own, or home: an address that leads elsewhere would lend our name to others.
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
    const EXPECTED: Expected<'static> =
        Expected { issuer: "https://id.example", client: "ade", nonce: "n", now: NOW };

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
    fn claims_are_believed_when_every_one_of_them_fits() {
        let shared = || vec!["ade".to_owned(), "other".to_owned()];
        let party = |name: &str| Some(name.to_owned());
        assert_eq!(good().believe(&EXPECTED), Ok(()));
        let cases = [
            (Claims { issuer: "https://id.example/".into(), ..good() }, Disbelief::Issuer),
            (Claims { issuer: String::new(), ..good() }, Disbelief::Issuer),
            (Claims { subject: String::new(), ..good() }, Disbelief::Subject),
            (Claims { subject: "s".repeat(IDENTITY_MAX_BYTES + 1), ..good() }, Disbelief::Subject),
            (Claims { audience: Vec::new(), ..good() }, Disbelief::Audience),
            (Claims { audience: vec!["other".into()], ..good() }, Disbelief::Audience),
            (Claims { audience: shared(), ..good() }, Disbelief::Party),
            (Claims { authorized_party: party("other"), ..good() }, Disbelief::Party),
            (Claims { nonce: None, ..good() }, Disbelief::Nonce),
            (Claims { nonce: party(""), ..good() }, Disbelief::Nonce),
            (Claims { nonce: party("m"), ..good() }, Disbelief::Nonce),
            (Claims { expires_at: None, ..good() }, Disbelief::Expired),
            (Claims { expires_at: Some(NOW - 60), ..good() }, Disbelief::Expired),
            (Claims { issued_at: None, ..good() }, Disbelief::Old),
            (Claims { issued_at: Some(NOW - 661), ..good() }, Disbelief::Old),
            (Claims { issued_at: Some(NOW + 61), ..good() }, Disbelief::Future),
            (Claims { not_before: Some(NOW + 61), ..good() }, Disbelief::Future),
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
    fn only_pages_of_our_own_are_returned_to() {
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
        fn groups_rule_over_the_roles_they_give_and_no_others(
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
            prop_assert_eq!(roles_of(&found, &mapping, &groups), found, "again: the same");
        }
    }
}
