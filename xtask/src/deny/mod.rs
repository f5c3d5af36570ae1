//! Licences, bans and sources of every dependency, held against `deny.toml`. A stand-in for
//! cargo-deny that needs nothing compiled (docs/adr/0002); settings it does not know are errors,
//! so the two tools cannot drift apart. Advisories are not here: their database is not local.

mod config;
mod expression;
mod graph;
mod rules;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use self::config::Config;
use self::graph::Graph;
use crate::shell;

const CONFIG: &str = "deny.toml";

pub fn run(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join(CONFIG))
        .with_context(|| format!("cannot read {CONFIG}"))?;
    let config: Config = toml::from_str(&text).with_context(|| format!("cannot use {CONFIG}"))?;
    let mut refusals = BTreeSet::new();
    let mut packages = 0;
    for target in &config.graph.targets {
        let graph = resolve(root, target)?;
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

fn resolve(root: &Path, target: &str) -> Result<Graph> {
    let args = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target];
    let metadata = shell::output(&mut shell::cargo(root, &args))?;
    let graph: Graph =
        serde_json::from_str(&metadata).context("cannot read what cargo metadata says")?;
    Ok(graph.pruned())
}
