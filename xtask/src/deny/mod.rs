//! Checks licences, bans and sources of every dependency against `deny.toml`. A substitute for
//! cargo-deny that needs nothing compiled (docs/adr/0002); unknown settings are errors, so the two
//! tools cannot drift apart. Advisories are checked by another command, `cargo xtask advisories`.

mod config;
mod expression;
mod rules;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use self::config::Config;
use crate::graph::Graph;

const CONFIG: &str = "deny.toml";

pub fn run(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join(CONFIG))
        .with_context(|| format!("cannot read {CONFIG}"))?;
    let config: Config = toml::from_str(&text).with_context(|| format!("cannot use {CONFIG}"))?;
    let mut refusals = BTreeSet::new();
    let mut packages = 0;
    for target in &config.graph.targets {
        let graph = Graph::resolve(root, target)?;
        packages = packages.max(graph.packages.len());
        refusals.extend(rules::check(&config, &graph));
    }
    for refusal in &refusals {
        println!("{refusal}");
    }
    match refusals.len() {
        0 => {
            println!("{packages} packages hold to {CONFIG}");
            Ok(())
        }
        many => bail!("{many} break(s) of {CONFIG}"),
    }
}
