//! `cargo xtask sbom`: what each program that is shipped is made of, as a `CycloneDX` document.
//! The same lock file gives the same bytes: no time, no number of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::shell;

const PROGRAMS: [&str; 2] = ["ade-server", "ade-cli"];
const FOLDER: &str = "target/sbom";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `None` for what is linked, else `build` or `dev`.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    bom_format: &'static str,
    spec_version: &'static str,
    version: u32,
    metadata: Value,
    components: Vec<Component>,
    dependencies: Vec<Needs>,
}

#[derive(Debug, Serialize)]
struct Component {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "bom-ref")]
    reference: String,
    name: String,
    version: String,
    purl: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    licenses: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Value>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Needs {
    #[serde(rename = "ref")]
    reference: String,
    depends_on: BTreeSet<String>,
}

pub fn run(root: &Path) -> Result<()> {
    let args = ["metadata", "--locked", "--format-version", "1"];
    let metadata: Metadata = serde_json::from_str(&shell::output(&mut shell::cargo(root, &args))?)
        .context("cannot read what cargo metadata says")?;
    let lock: Lock = toml::from_str(&fs::read_to_string(root.join("Cargo.lock"))?)
        .context("cannot read Cargo.lock")?;
    fs::create_dir_all(root.join(FOLDER))?;
    for program in PROGRAMS {
        let document = document(&metadata, &lock, program)?;
        let path = format!("{FOLDER}/{program}.cdx.json");
        fs::write(root.join(&path), serde_json::to_string_pretty(&document)? + "\n")?;
        println!("{path}: {} packages", document.components.len());
    }
    Ok(())
}

fn document(metadata: &Metadata, lock: &Lock, program: &str) -> Result<Document> {
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let root = metadata.packages.iter().find(|package| package.name == program);
    let root = root.with_context(|| format!("there is no package {program}"))?;
    let needs = needs(metadata);
    let mut open = vec![root.id.as_str()];
    let mut reached = BTreeSet::new();
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(needs.get(id).into_iter().flatten());
        }
    }
    let parts = reached.iter().filter_map(|id| packages.get(id).copied());
    let others = parts.clone().filter(|package| package.id != root.id);
    let mut components: Vec<Component> =
        others.map(|package| component(package, lock, "library")).collect();
    components.sort_by(|one, other| one.reference.cmp(&other.reference));
    let mut dependencies: Vec<Needs> = parts
        .map(|package| {
            let needs = needs.get(package.id.as_str()).into_iter().flatten();
            let depends_on = needs.filter_map(|id| packages.get(id).copied().map(reference));
            Needs { reference: reference(package), depends_on: depends_on.collect() }
        })
        .collect();
    dependencies.sort();
    Ok(Document {
        bom_format: "CycloneDX",
        spec_version: "1.6",
        version: 1,
        metadata: json!({ "component": component(root, lock, "application") }),
        components,
        dependencies,
    })
}

/// What each package is built from or with; what only its tests use is in no program.
fn needs(metadata: &Metadata) -> BTreeMap<&str, Vec<&str>> {
    let is_shipped =
        |edge: &&Edge| edge.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"));
    let nodes = metadata.resolve.nodes.iter();
    nodes
        .map(|node| {
            let needs = node.deps.iter().filter(is_shipped).map(|edge| edge.pkg.as_str());
            (node.id.as_str(), needs.collect())
        })
        .collect()
}

fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn component(package: &Package, lock: &Lock, kind: &'static str) -> Component {
    // Older packages separate their choices by a stroke.
    let license = package.license.as_ref().map(|license| license.replace('/', " OR "));
    let is_it = |one: &&Locked| one.name == package.name && one.version == package.version;
    let checksum = lock.package.iter().find(is_it).and_then(|one| one.checksum.as_ref());
    Component {
        kind,
        reference: reference(package),
        name: package.name.clone(),
        version: package.version.clone(),
        purl: reference(package),
        licenses: license.into_iter().map(|license| json!({ "expression": license })).collect(),
        hashes: checksum
            .into_iter()
            .map(|checksum| json!({ "alg": "SHA-256", "content": checksum }))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> (Metadata, Lock) {
        let package = |name: &str| {
            json!({ "id": name, "name": name, "version": "1.0.0",
                                           "license": "MIT/Apache-2.0" })
        };
        let edge =
            |to: &str, kind: Option<&str>| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        let names = ["ade-cli", "linked", "builder", "tester", "stranger"];
        let metadata = json!({
            "packages": names.map(package),
            "resolve": { "nodes": [
                { "id": "ade-cli", "deps": [
                    edge("linked", None), edge("builder", Some("build")),
                    edge("tester", Some("dev")),
                ] },
                { "id": "linked", "deps": [] }, { "id": "builder", "deps": [edge("linked", None)] },
                { "id": "tester", "deps": [] }, { "id": "stranger", "deps": [] },
            ] },
        });
        let lock = json!({ "package": [
            { "name": "linked", "version": "1.0.0", "checksum": "ab12" },
            { "name": "linked", "version": "2.0.0", "checksum": "cd34" },
        ] });
        (serde_json::from_value(metadata).unwrap(), serde_json::from_value(lock).unwrap())
    }

    #[test]
    fn a_program_is_what_it_is_built_from_and_nothing_else() {
        let (metadata, lock) = small();
        let told = document(&metadata, &lock, "ade-cli").unwrap();
        let names: Vec<&str> = told.components.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["builder", "linked"]);
        let linked = &told.components[1];
        assert_eq!(linked.hashes[0]["content"], "ab12", "of this version");
        assert_eq!(linked.licenses[0]["expression"], "MIT OR Apache-2.0");
        let refs: BTreeSet<&str> =
            told.dependencies.iter().map(|needs| needs.reference.as_str()).collect();
        let ends: Vec<&String> =
            told.dependencies.iter().flat_map(|needs| &needs.depends_on).collect();
        assert_eq!(ends.len(), 3);
        assert!(ends.iter().all(|end| refs.contains(end.as_str())), "{ends:?}");
    }

    #[test]
    fn an_unknown_program_is_told() {
        let (metadata, lock) = small();
        assert!(document(&metadata, &lock, "nobody").is_err());
    }
}
