//! Lists by key, never by offset: a page says where the next one begins. The token names the
//! last key and the filter it was made under, so that it cannot continue another list.

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
    /// Hand it back as `page_token` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// The query of a list names these two itself and hands them over: what is flattened can neither
/// refuse unknown parameters nor read numbers out of a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageError {
    Size {
        asked: u32,
    },
    /// Not made by this server, or cut.
    Token,
    /// Made for a list with other filters.
    OtherFilter,
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Size { asked } => {
                write!(f, "`page_size` is {asked}: ask for 1 to {PAGE_SIZE_MAX}")
            }
            Self::Token => f.write_str("`page_token` is none of ours: begin without it"),
            Self::OtherFilter => {
                f.write_str("`page_token` continues a list with other filters: begin without it")
            }
        }
    }
}

impl std::error::Error for PageError {}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place<K> {
    /// The key of the last item that was given.
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

    /// The key after which this page begins; `filter` is what else was asked, tenant included.
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
    /// With the key after which the next one begins, if there is a next one.
    pub fn ending<K: Serialize>(items: Vec<T>, next: Option<&K>, filter: &impl Serialize) -> Self {
        Self { items, next_page_token: next.and_then(|key| token(key, filter)) }
    }
}

fn token(key: &impl Serialize, filter: &impl Serialize) -> Option<String> {
    let place = Place { k: key, f: hash_of(filter) };
    serde_json::to_vec(&place).ok().map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
}

/// Against mistakes, not against forgery: whoever forges a place only skips part of their list.
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
    fn walking_the_pages_gives_every_item_once() {
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
    fn the_last_page_has_no_token() {
        assert_eq!(Page::ending(vec![1, 2], None::<&u32>, &()).next_page_token, None);
    }

    #[test]
    fn a_token_continues_only_the_list_it_was_made_for() {
        let token = Page::ending(vec![1, 2], Some(&2), &"mine").next_page_token;
        assert_eq!(query(token.clone()).after::<u32>(&"mine"), Ok(Some(2)));
        assert_eq!(query(token.clone()).after::<u32>(&"all"), Err(PageError::OtherFilter));
        assert_eq!(query(token).after::<String>(&"mine"), Err(PageError::Token));
    }

    #[test]
    fn what_was_not_made_here_is_refused() {
        for given in ["", "x", "e30", "%%", &"A".repeat(5000)] {
            let asked = query(Some(given.to_owned())).after::<u32>(&());
            assert_eq!(asked, Err(PageError::Token), "{given}");
        }
    }

    #[test]
    fn the_size_is_bounded_and_has_a_default() {
        let size = |page_size| PageQuery { page_size, page_token: None }.size();
        assert_eq!(size(None), Ok(50));
        assert_eq!(size(Some(200)), Ok(200));
        assert_eq!(size(Some(0)), Err(PageError::Size { asked: 0 }));
        assert_eq!(size(Some(201)), Err(PageError::Size { asked: 201 }));
    }
}
