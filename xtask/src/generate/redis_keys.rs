//! Generates `docs/reference/redis-keys.md` from the key catalogue.

use std::fmt::Write as _;

use ade_coord::keys::{CATALOGUE, Key};
use anyhow::Result;

use super::{Generated, NOTICE};
use crate::tree::Tree;

const SOURCE: &str = "crates/coord/src/keys.rs";
const DOCUMENT: &str = "docs/reference/redis-keys.md";

pub fn generate(_tree: &Tree) -> Result<Vec<Generated>> {
    Ok(vec![Generated { path: DOCUMENT.to_owned(), text: document(CATALOGUE)? }])
}

fn document(keys: &[Key]) -> Result<String> {
    let mut out = format!("# Redis keys\n\n{NOTICE} Its source is `{SOURCE}`.\n\n");
    out.push_str(
        "`{tenant}` stands for the tenant's id in braces, which is also the hash tag: all keys of \
         a tenant\nare in one slot. `{shard}` stands for one of the shards that tenants are \
         spread over, `{s00}` and so\non. All keys may be lost at any time; the last column says \
         what they are rebuilt from.\n\n\
         | key | type | holds | bounded by | written by | rebuilt from |\n\
         |---|---|---|---|---|---|\n",
    );
    for key in keys {
        writeln!(
            out,
            "| `{}` | {} | {} | {} | `{}` | {} |",
            key.pattern(),
            key.kind.as_str(),
            key.holds,
            key.lifetime,
            key.owner,
            key.rebuilt_from
        )?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_keys_reference_has_a_full_row_per_key() {
        let text = document(CATALOGUE).unwrap();
        for key in CATALOGUE {
            let row = text.lines().find(|line| line.contains(&format!("`{}`", key.pattern())));
            let row = row.unwrap();
            for part in [key.kind.as_str(), key.holds, key.lifetime, key.owner, key.rebuilt_from] {
                assert!(row.contains(part), "{row}");
            }
        }
    }
}
