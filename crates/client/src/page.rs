//! Collects the pages of a list.

use ade_api::page::{Page, PageQuery};
use ade_core::limits::PAGE_SIZE_MAX;

use crate::error::Error;

/// The collected items of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered<T> {
    pub items: Vec<T>,
    /// Whether the server has more items.
    pub has_more: bool,
}

/// Collects at most `limit` items. A short page is not necessarily the last one.
pub async fn gather<T>(
    limit: usize,
    mut ask: impl AsyncFnMut(PageQuery) -> Result<Page<T>, Error>,
) -> Result<Gathered<T>, Error> {
    let mut items = Vec::new();
    let mut page_token = None;
    loop {
        let missing = u32::try_from(limit - items.len()).unwrap_or(u32::MAX).min(PAGE_SIZE_MAX);
        let page = ask(PageQuery { page_size: Some(missing), page_token }).await?;
        items.extend(page.items);
        match page.next_page_token {
            Some(token) if items.len() < limit => page_token = Some(token),
            next => {
                let has_more = next.is_some() || items.len() > limit;
                items.truncate(limit);
                return Ok(Gathered { items, has_more });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn of_a_list(limit: usize, pages: &[&[u32]]) -> (Vec<u32>, bool, Vec<u32>) {
        let mut asked = Vec::new();
        let gathered = gather(limit, async |query| {
            asked.push(query.page_size.unwrap_or_default());
            let at: usize = query.page_token.map_or(0, |token| token.parse().unwrap());
            let next_page_token = (at + 1 < pages.len()).then(|| (at + 1).to_string());
            Ok(Page { items: pages[at].to_vec(), next_page_token })
        });
        let Gathered { items, has_more } = gathered.await.unwrap();
        (items, has_more, asked)
    }

    #[tokio::test]
    async fn pages_are_read_until_enough_or_the_end() {
        let pages: &[&[u32]] = &[&[1, 2], &[], &[3]];
        assert_eq!(of_a_list(5, pages).await, (vec![1, 2, 3], false, vec![5, 3, 3]));
        assert_eq!(of_a_list(2, pages).await, (vec![1, 2], true, vec![2]));
        assert_eq!(of_a_list(1, pages).await, (vec![1], true, vec![1]));
        assert_eq!(of_a_list(900, &[&[]]).await, (vec![], false, vec![200]));
    }
}
