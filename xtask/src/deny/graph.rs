//! The part of `cargo metadata` that tells which packages are there, under which licence, from
//! where, and who asked for them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

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
    /// What each feature switches on.
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
    /// Ids of the packages it depends on, for whatever purpose.
    pub dependencies: Vec<String>,
    /// Those that are switched on.
    #[serde(default)]
    pub features: Vec<String>,
}

impl Graph {
    /// Without what nobody builds: cargo also lists an optional package that a feature would only
    /// add to (`name?/feature`), switched on or not.
    pub fn pruned(mut self) -> Self {
        let by_id: BTreeMap<&str, &Package> =
            self.packages.iter().map(|package| (package.id.as_str(), package)).collect();
        for node in &mut self.resolve.nodes {
            let Some(parent) = by_id.get(node.id.as_str()) else { continue };
            let features = &node.features;
            node.dependencies.retain(|id| {
                let child = by_id.get(id.as_str());
                child.is_none_or(|child| parent.builds(&child.name, features))
            });
        }
        let reached = self.reached();
        self.packages.retain(|package| reached.contains(&package.id));
        self
    }

    /// Ids of all that the packages of this workspace need, themselves included.
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

    /// Names of the packages that depend on this one directly.
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
    /// Whether a package of this name is built with it when these features are on.
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

    /// `ours` needs `outer`, which has an optional `inner` behind these features.
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
    fn an_optional_package_counts_once_a_feature_switches_it_on() {
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
