//! The part of `cargo metadata` with the packages, their licences and sources, and their
//! dependents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::shell;

#[derive(Debug, Deserialize)]
pub struct Graph {
    pub packages: Vec<Package>,
    pub resolve: Resolve,
}

#[derive(Debug, Deserialize)]
pub struct Package {
    pub id: String,
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    /// `None` for packages of this workspace.
    pub source: Option<String>,
    pub dependencies: Vec<Requirement>,
    /// The optional dependencies and features that each feature enables.
    #[serde(default)]
    pub features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub struct Requirement {
    pub name: String,
    pub req: String,
    pub path: Option<String>,
    #[serde(default)]
    pub optional: bool,
    pub rename: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Resolve {
    pub nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
pub struct Node {
    pub id: String,
    /// The ids of the packages that it depends on, for any purpose.
    pub dependencies: Vec<String>,
    /// The same packages, each with the purposes.
    #[serde(default)]
    pub deps: Vec<Edge>,
    /// The enabled features.
    #[serde(default)]
    pub features: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Edge {
    #[serde(rename = "pkg")]
    pub id: String,
    pub dep_kinds: Vec<Purpose>,
}

#[derive(Debug, Deserialize)]
pub struct Purpose {
    /// `None` for a dependency that is linked, otherwise `build` or `dev`.
    pub kind: Option<String>,
}

impl Graph {
    /// Returns the packages that are built for this platform.
    pub fn resolve(root: &Path, target: &str) -> Result<Self> {
        let args = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target];
        let metadata = shell::output(&mut shell::cargo(root, &args))?;
        let graph: Self =
            serde_json::from_str(&metadata).context("cannot read what cargo metadata says")?;
        Ok(graph.pruned())
    }

    /// Removes packages that are never built: cargo also lists an optional package to which a
    /// feature would only add something (`name?/feature`), enabled or not.
    fn pruned(mut self) -> Self {
        let by_id: BTreeMap<&str, &Package> =
            self.packages.iter().map(|package| (package.id.as_str(), package)).collect();
        for node in &mut self.resolve.nodes {
            let Some(parent) = by_id.get(node.id.as_str()) else { continue };
            let features = &node.features;
            let is_built =
                |id: &str| by_id.get(id).is_none_or(|child| parent.builds(&child.name, features));
            node.dependencies.retain(|id| is_built(id));
            node.deps.retain(|edge| is_built(&edge.id));
        }
        let reached = self.reached();
        self.packages.retain(|package| reached.contains(&package.id));
        self
    }

    /// Returns the ids of all packages that the workspace needs, including its own.
    fn reached(&self) -> BTreeSet<String> {
        let ours = self.packages.iter().filter(|package| package.source.is_none());
        let mut open: Vec<String> = ours.map(|package| package.id.clone()).collect();
        let mut reached = BTreeSet::new();
        while let Some(id) = open.pop() {
            let node = self.resolve.nodes.iter().find(|node| node.id == id);
            if reached.insert(id) {
                open.extend(node.into_iter().flat_map(|node| node.dependencies.iter().cloned()));
            }
        }
        reached
    }

    /// Returns the names of the packages that depend on this one directly.
    pub fn parents(&self, package: &Package) -> Vec<&str> {
        let nodes = self.resolve.nodes.iter();
        let parents = nodes.filter(|node| node.dependencies.contains(&package.id));
        let names = parents.filter_map(|node| {
            let parent = self.packages.iter().find(|package| package.id == node.id)?;
            Some(parent.name.as_str())
        });
        names.collect()
    }
}

impl Package {
    /// Returns whether a dependency of this name is built when these features are enabled.
    fn builds(&self, name: &str, features: &[String]) -> bool {
        let mut wanted = self.dependencies.iter().filter(|wanted| wanted.name == name).peekable();
        wanted.peek().is_none() || wanted.any(|wanted| self.is_on(wanted, features))
    }

    fn is_on(&self, wanted: &Requirement, features: &[String]) -> bool {
        let key = wanted.rename.as_deref().unwrap_or(&wanted.name);
        let (switch, extra) = (format!("dep:{key}"), format!("{key}/"));
        let switches = features.iter().filter_map(|feature| self.features.get(feature)).flatten();
        let mut named = switches.chain(features);
        !wanted.optional
            || named.any(|text| *text == switch || text.as_str() == key || text.starts_with(&extra))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the packages that remain when `ours` needs `outer`, which has an optional `inner`
    /// behind these features.
    fn left(switches: &serde_json::Value, on: &[&str]) -> Vec<String> {
        let package = |name: &str, source: Option<&str>, needs: serde_json::Value| {
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT",
                    "source": source, "dependencies": needs, "features": switches })
        };
        let outer = json!([{ "name": "outer", "req": "^1" }]);
        let inner = json!([{ "name": "inner", "req": "^1", "optional": true }]);
        let graph = json!({
            "packages": [
                package("ours", None, outer),
                package("outer", Some("registry"), inner),
                package("inner", Some("registry"), json!([])),
            ],
            "resolve": { "nodes": [
                { "id": "ours", "dependencies": ["outer"] },
                { "id": "outer", "dependencies": ["inner"], "features": on },
                { "id": "inner", "dependencies": [] },
            ] },
        });
        let graph: Graph = serde_json::from_value(graph).unwrap();
        graph.pruned().packages.into_iter().map(|package| package.name).collect()
    }

    #[test]
    fn optional_package_counts_once_a_feature_enables_it() {
        let switches = json!({ "weak": ["inner?/x"], "strong": ["inner/x"], "plain": ["dep:inner"],
                               "inner": ["dep:inner"] });
        for off in [&[][..], &["weak"]] {
            assert_eq!(left(&switches, off), ["ours", "outer"], "{off:?}");
        }
        for on in ["strong", "plain", "inner"] {
            assert_eq!(left(&switches, &["weak", on]), ["ours", "outer", "inner"], "{on}");
        }
    }
}
