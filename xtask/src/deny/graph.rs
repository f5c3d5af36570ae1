//! The part of `cargo metadata` that tells which packages are there, under which licence, from
//! where, and who asked for them.

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
}

#[derive(Debug, Deserialize)]
pub struct Requirement {
    pub name: String,
    pub req: String,
    pub path: Option<String>,
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
}

impl Graph {
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
