//! Pagination by key, never by offset. The page token contains the last key and a hash of the
//! filters, so that it cannot continue another list.

use ade_core::limits::{PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, PAGE_TOKEN_MAX_BYTES};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::{IntoParams, ToSchema};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Send it as `page_token` to get the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// The pagination parameters. List queries declare both fields themselves and copy them here,
/// because a flattened struct can neither refuse unknown parameters nor parse numbers from a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageError {
    Size {
        asked: u32,
    },
    /// The token is not from this server, or is truncated.
    Token,
    /// The token belongs to a list with other filters.
    OtherFilter,
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Size { asked } => {
                write!(f, "`page_size` is {asked}: it must be 1 to {PAGE_SIZE_MAX}")
            }
            Self::Token => f.write_str("`page_token` is invalid: start the list again without it"),
            Self::OtherFilter => f.write_str(
                "`page_token` belongs to a list with other filters: start the list \
                             again without it",
            ),
        }
    }
}

impl std::error::Error for PageError {}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place<K> {
    /// The key of the last returned item.
    k: K,
    /// The hash of the filters.
    f: String,
}

impl PageQuery {
    pub fn size(&self) -> Result<u32, PageError> {
        match self.page_size {
            None => Ok(PAGE_SIZE_DEFAULT),
            Some(asked) if (1..=PAGE_SIZE_MAX).contains(&asked) => Ok(asked),
            Some(asked) => Err(PageError::Size { asked }),
        }
    }

    /// Returns the key after which this page begins. `filter` has all other parameters of the list,
    /// including the tenant.
    pub fn after<K: DeserializeOwned>(
        &self,
        filter: &impl Serialize,
    ) -> Result<Option<K>, PageError> {
        let Some(token) = &self.page_token else {
            return Ok(None);
        };
        if token.len() > PAGE_TOKEN_MAX_BYTES {
            return Err(PageError::Token);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| PageError::Token)?;
        let place: Place<K> = serde_json::from_slice(&bytes).map_err(|_| PageError::Token)?;
        if place.f == hash_of(filter) { Ok(Some(place.k)) } else { Err(PageError::OtherFilter) }
    }
}

impl<T> Page<T> {
    /// Creates a page; `next` is the key after which the next page begins, if there is one.
    pub fn ending<K: Serialize>(items: Vec<T>, next: Option<&K>, filter: &impl Serialize) -> Self {
        Self { items, next_page_token: next.and_then(|key| token(key, filter)) }
    }
}

fn token(key: &impl Serialize, filter: &impl Serialize) -> Option<String> {
    let place = Place { k: key, f: hash_of(filter) };
    serde_json::to_vec(&place).ok().map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
}

/// Hashes the filters. This protects against mistakes, not against forgery: a forged token only
/// skips part of the caller's own list.
fn hash_of(filter: &impl Serialize) -> String {
    let bytes = serde_json::to_vec(filter).unwrap_or_default();
    let hash = Sha256::digest(bytes);
    URL_SAFE_NO_PAD.encode(hash.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(token: Option<String>) -> PageQuery {
        PageQuery { page_size: Some(2), page_token: token }
    }

    #[test]
    fn pages_return_every_item_exactly_once() {
        let all: Vec<u32> = (1..=5).collect();
        let mut seen = Vec::new();
        let mut token = None;
        loop {
            let query = query(token);
            let after: Option<u32> = query.after(&"mine").unwrap();
            let size = query.size().unwrap();
            let rest = all.iter().filter(|item| after.is_none_or(|after| **item > after));
            let rows: Vec<u32> = rest.take(usize::try_from(size).unwrap()).copied().collect();
            let next = rows.last().filter(|last| **last < 5).copied();
            let page = Page::ending(rows, next.as_ref(), &"mine");
            seen.extend(page.items);
            token = page.next_page_token;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
    }

    #[test]
    fn page_last_has_no_token() {
        assert_eq!(Page::ending(vec![1, 2], None::<&u32>, &()).next_page_token, None);
    }

    #[test]
    fn page_token_of_another_list_is_refused() {
        let token = Page::ending(vec![1, 2], Some(&2), &"mine").next_page_token;
        assert_eq!(query(token.clone()).after::<u32>(&"mine"), Ok(Some(2)));
        assert_eq!(query(token.clone()).after::<u32>(&"all"), Err(PageError::OtherFilter));
        assert_eq!(query(token).after::<String>(&"mine"), Err(PageError::Token));
    }

    #[test]
    fn page_token_that_is_malformed_is_refused() {
        for given in ["", "x", "e30", "%%", &"A".repeat(5000)] {
            let asked = query(Some(given.to_owned())).after::<u32>(&());
            assert_eq!(asked, Err(PageError::Token), "{given}");
        }
    }

    #[test]
    fn page_size_is_bounded_and_has_a_default() {
        let size = |page_size| PageQuery { page_size, page_token: None }.size();
        assert_eq!(size(None), Ok(50));
        assert_eq!(size(Some(200)), Ok(200));
        assert_eq!(size(Some(0)), Err(PageError::Size { asked: 0 }));
        assert_eq!(size(Some(201)), Err(PageError::Size { asked: 201 }));
    }
}
