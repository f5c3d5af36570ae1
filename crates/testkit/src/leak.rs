//! Searches for secrets in everything a test leaves behind: its database and the logs of the
//! programs it started must not contain a valid token. Tokens carry a checksum, so they are
//! recognized without a list of those that were issued.

use std::io::{BufRead as _, BufReader, Read};
use std::thread::{self, JoinHandle};

use ade_core::token::{LEN, PREFIX, Token};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::failure::{Failure, or_fail};

/// The first bytes of a token in hexadecimal.
const DIGITS: &str = "6164655f";

/// Fails the test if the output of one of its programs contains a token.
pub fn assert_none(place: &str, text: &str) {
    fail_on(place, token_in(text));
}

/// Fails the test, unless it is failing already: a second panic would hide the first.
pub(crate) fn fail_on(place: &str, leaked: Option<String>) {
    if let Some(found) = leaked.filter(|_| !thread::panicking()) {
        or_fail::<()>(Err(Failure::new(format!("a token is in {place}"), found)));
    }
}

/// Reads the output of a program to its end, so that a full pipe does not block it.
#[derive(Debug)]
pub struct Reader(JoinHandle<Option<String>>);

impl Reader {
    pub fn of(log: impl Read + Send + 'static) -> Self {
        Self(thread::spawn(move || {
            let lines = BufReader::new(log).lines().map_while(Result::ok);
            // Reading continues after a match, because the pipe must stay empty.
            lines
                .filter_map(|line| token_in(&line))
                .fold(None, |first, found| first.or(Some(found)))
        }))
    }

    /// Waits for the end of the output, after the program has ended, and fails the test if a token
    /// was in it.
    pub fn end(self) {
        fail_on("a log", self.0.join().ok().flatten());
    }
}

/// Returns the first token in the text, without its secret part.
pub fn token_in(text: &str) -> Option<String> {
    let plain = text.match_indices(PREFIX).filter_map(|(at, _)| text.get(at..at + LEN));
    let plain = plain.map(str::to_owned);
    let digits = text.match_indices(DIGITS).filter_map(|(at, _)| text.get(at..at + 2 * LEN));
    let digits = digits.filter_map(bytes_of);
    let found = plain.chain(digits).find_map(|text| Token::parse(&text).ok())?;
    Some(format!("ade_{}_{}_…", found.kind.as_str(), found.key_id))
}

fn bytes_of(digits: &str) -> Option<String> {
    let pairs = digits.as_bytes().chunks_exact(2);
    let pair = |pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    String::from_utf8(pairs.map(pair).collect::<Option<Vec<u8>>>()?).ok()
}

/// Searches every row of every table, and returns the first token with the name of its table.
pub(crate) async fn token_in_record(
    owner: &mut PgConnection,
) -> Result<Option<String>, sqlx::Error> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE c.relkind = 'r' AND n.nspname = 'public' AND pg_relation_size(c.oid) > 0",
    )
    .fetch_all(&mut *owner)
    .await?;
    for table in tables {
        let like = format!(
            "SELECT t::text FROM {table} t
              WHERE t::text LIKE '%{PREFIX}%' OR t::text LIKE '%{DIGITS}%'"
        );
        let rows: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(like)).fetch_all(&mut *owner).await?;
        if let Some(found) = rows.iter().find_map(|row| token_in(row)) {
            return Ok(Some(format!("{table}: {found}")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use ade_core::token::{KeyId, Secret, TokenKind};

    use super::*;

    fn token() -> String {
        let (key_id, secret) = (KeyId::from_bytes([3; 11]), Secret::from_bytes([9; 32]));
        Token { kind: TokenKind::Agent, key_id, secret }.reveal()
    }

    #[test]
    fn token_leak_is_reported_without_its_secret() {
        let token = token();
        let digits: Vec<String> = token.bytes().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.concat();
        for text in
            [token.clone(), format!("ade_usr_ade_{token}."), format!("(1,\"\\\\x{digits}\")")]
        {
            let found = token_in(&text).unwrap();
            assert!(token.starts_with(found.trim_end_matches('…')), "{found}");
            assert!(found.len() < token.len() / 2, "{found}");
        }
    }

    #[test]
    fn token_lookalike_is_not_a_leak() {
        let token = token();
        let mistyped = format!("{}!", &token[..token.len() - 1]);
        let other_sum = format!("{}x", &token[..token.len() - 1]);
        for text in
            ["", "ade_", "ade_agt_", &mistyped, &other_sum, &token[1..], "6164655fé6164655f"]
        {
            assert_eq!(token_in(text), None, "{text}");
        }
    }
}
