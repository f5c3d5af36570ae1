//! `cargo xtask sbom`: what each shipped program is built from, as a `CycloneDX` document: its
//! crates for the platform of this machine, and for the server the npm packages of the dashboard.
//! The same lockfiles give the same bytes: a document contains no time and no serial number.
//! A release builds both programs at once, so they share the features of their crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::{Value, json};

use crate::graph::{Graph, Package};
use crate::lockfile::Lockfile;
use crate::npm::{self, NpmLockfile};
use crate::shell;

struct Program {
    name: &'static str,
    package: &'static str,
    has_dashboard: bool,
}

const PROGRAMS: [Program; 2] = [
    Program { name: "ade-server", package: "ade-server", has_dashboard: true },
    Program { name: "ade", package: "ade-cli", has_dashboard: false },
];
/// The directory for the documents, in the one where cargo puts its artifacts.
const FOLDER: &str = "sbom";

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
    let target = host()?;
    let mut graph = Graph::resolve(root, &target)?;
    let built = built(root, &target)?;
    graph.packages.retain(|package| built.contains(&title(&package.name, &package.version)));
    let lockfile = Lockfile::read(root)?;
    let dashboard = NpmLockfile::read(root)?;
    let folder = shell::target_directory(root)?.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for program in &PROGRAMS {
        let mut document = crates(&graph, &lockfile, program, &target)?;
        if program.has_dashboard {
            document.add(&dashboard);
        }
        let path = folder.join(format!("{}.cdx.json", program.name));
        fs::write(&path, serde_json::to_string_pretty(&document)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}: {} packages", path.display(), document.components.len());
    }
    Ok(())
}

/// Returns the platform of this machine, for which cargo builds by default.
fn host() -> Result<String> {
    let text = shell::output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc did not report its host platform")
}

/// Returns the packages that a release compiles, each as `name vVERSION`. The graph also has what
/// only the tools and tests of the workspace enable.
fn built(root: &Path, target: &str) -> Result<BTreeSet<String>> {
    let args = ["tree", "--locked", "--edges", "normal,build", "--prefix", "none"];
    let mut command = shell::cargo(root, &args);
    command.args(["--format", "{p}", "--target", target]);
    for program in &PROGRAMS {
        command.args(["--package", program.package]);
    }
    Ok(titles(&shell::output(&mut command)?))
}

/// Parses lines like `serde v1.0.0 (*)`.
fn titles(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
    lines.map(|words| words.join(" ")).filter(|title| !title.is_empty()).collect()
}

fn title(name: &str, version: &str) -> String {
    format!("{name} v{version}")
}

/// Returns the document of a program with its crates.
fn crates(graph: &Graph, lockfile: &Lockfile, program: &Program, target: &str) -> Result<Document> {
    let packages: BTreeMap<&str, &Package> =
        graph.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let root = graph.packages.iter().find(|package| package.name == program.package);
    let root = root.with_context(|| format!("there is no package {}", program.package))?;
    let needs = needs(graph);
    let mut open = vec![root.id.as_str()];
    let mut reached = BTreeSet::new();
    while let Some(id) = open.pop() {
        if packages.contains_key(id) && reached.insert(id) {
            open.extend(needs.get(id).into_iter().flatten());
        }
    }
    let parts = reached.iter().filter_map(|id| packages.get(id).copied());
    let others = parts.clone().filter(|package| package.id != root.id);
    let mut components: Vec<Component> =
        others.map(|package| component(package, lockfile, "library")).collect();
    components.sort_by(|one, other| one.reference.cmp(&other.reference));
    let mut dependencies: Vec<Needs> = parts
        .map(|package| {
            let needs = needs.get(package.id.as_str()).into_iter().flatten();
            let depends_on = needs.filter_map(|id| packages.get(id).copied().map(reference));
            Needs { reference: reference(package), depends_on: depends_on.collect() }
        })
        .collect();
    dependencies.sort();
    let application =
        Component { name: program.name.to_owned(), ..component(root, lockfile, "application") };
    Ok(Document {
        bom_format: "CycloneDX",
        spec_version: "1.5",
        version: 1,
        metadata: json!({
            "component": application,
            "properties": [{ "name": "build:target", "value": target }],
        }),
        components,
        dependencies,
    })
}

impl Document {
    /// Adds the npm packages of the dashboard, which the server embeds.
    fn add(&mut self, dashboard: &NpmLockfile) {
        let reference = |directory: &str| {
            let version = dashboard.package(directory).map_or("", |package| &package.version);
            npm_reference(npm::name_of(directory), version)
        };
        let own = self.metadata.pointer("/component/bom-ref").and_then(Value::as_str);
        let own = own.unwrap_or_default().to_owned();
        let mut components = BTreeMap::new();
        for (directory, needs) in dashboard.shipped() {
            let depends_on: BTreeSet<String> = needs.into_iter().map(reference).collect();
            if directory.is_empty() {
                let program = self.dependencies.iter_mut().find(|needs| needs.reference == own);
                if let Some(program) = program {
                    program.depends_on.extend(depends_on);
                }
                continue;
            }
            let Some(package) = dashboard.package(directory) else { continue };
            let reference = reference(directory);
            let part = Component {
                kind: "library",
                reference: reference.clone(),
                name: npm::name_of(directory).to_owned(),
                version: package.version.clone(),
                purl: reference.clone(),
                licenses: package.license.iter().map(|text| license(text)).collect(),
                hashes: package.sha512().iter().map(|hash| hash_of("SHA-512", hash)).collect(),
            };
            // The same version may be installed in two directories, with other neighbours.
            components
                .entry(reference.clone())
                .or_insert((part, BTreeSet::new()))
                .1
                .extend(depends_on);
        }
        for (reference, (part, depends_on)) in components {
            self.components.push(part);
            self.dependencies.push(Needs { reference, depends_on });
        }
        self.dependencies.sort();
    }
}

/// Returns what each package is built from or with. Dependencies of tests are not part of a
/// program.
fn needs(graph: &Graph) -> BTreeMap<&str, Vec<&str>> {
    let nodes = graph.resolve.nodes.iter();
    nodes
        .map(|node| {
            let shipped = node.deps.iter().filter(|edge| {
                edge.dep_kinds.iter().any(|purpose| purpose.kind.as_deref() != Some("dev"))
            });
            (node.id.as_str(), shipped.map(|edge| edge.id.as_str()).collect())
        })
        .collect()
}

fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn npm_reference(name: &str, version: &str) -> String {
    format!("pkg:npm/{}@{}", name.replace('@', "%40"), version.replace('+', "%2B"))
}

fn license(expression: &str) -> Value {
    json!({ "expression": expression })
}

fn hash_of(algorithm: &str, content: &str) -> Value {
    json!({ "alg": algorithm, "content": content })
}

fn component(package: &Package, lockfile: &Lockfile, kind: &'static str) -> Component {
    // Older packages separate their alternatives by a slash.
    let expression = package.license.as_ref().map(|text| text.replace('/', " OR "));
    let mut locked = lockfile.packages.iter();
    let locked = locked.find(|one| one.name == package.name && one.version == package.version);
    let checksum = locked.and_then(|one| one.checksum.as_ref());
    Component {
        kind,
        reference: reference(package),
        name: package.name.clone(),
        version: package.version.clone(),
        purl: reference(package),
        licenses: expression.iter().map(|text| license(text)).collect(),
        hashes: checksum.into_iter().map(|hash| hash_of("SHA-256", hash)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLI: &Program = &PROGRAMS[1];
    const DASHBOARD: &str = r#"{"packages": {
        "": {"dependencies": {"@x/ui": "1"}, "devDependencies": {"lint": "1"}},
        "node_modules/@x/ui": {"version": "1.0.0", "license": "MIT", "integrity": "sha512-q83v",
            "dependencies": {"core": "2"}},
        "node_modules/core": {"version": "2.0.0"},
        "node_modules/lint": {"version": "1.0.0", "dev": true}
    }}"#;

    fn small() -> (Graph, Lockfile) {
        let package = |name: &str| {
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                    "source": null, "dependencies": [] })
        };
        let edge =
            |to: &str, kind: Option<&str>| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        let node =
            |name: &str, deps: Value| json!({ "id": name, "dependencies": [], "deps": deps });
        let names = ["ade-cli", "linked", "builder", "tester", "stranger"];
        let graph = json!({
            "packages": names.map(package),
            "resolve": { "nodes": [
                node("ade-cli", json!([
                    edge("linked", None), edge("builder", Some("build")),
                    edge("tester", Some("dev")),
                ])),
                node("linked", json!([])), node("builder", json!([edge("linked", None)])),
                node("tester", json!([])), node("stranger", json!([])),
            ] },
        });
        let lockfile = Lockfile::parse(
            "[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"ab12\"\n\
             [[package]]\nname = \"linked\"\nversion = \"2.0.0\"\nchecksum = \"cd34\"\n",
        );
        (serde_json::from_value(graph).unwrap(), lockfile.unwrap())
    }

    fn names(sbom: &Document) -> Vec<&str> {
        sbom.components.iter().map(|part| part.name.as_str()).collect()
    }

    #[test]
    fn sbom_lists_the_dependencies_of_one_program() {
        let (graph, lockfile) = small();
        let sbom = crates(&graph, &lockfile, CLI, "t").unwrap();
        assert_eq!(names(&sbom), ["builder", "linked"]);
        let linked = &sbom.components[1];
        assert_eq!(linked.hashes[0]["content"], "ab12", "of this version");
        assert_eq!(linked.licenses[0]["expression"], "MIT OR Apache-2.0");
    }

    #[test]
    fn sbom_leaves_out_what_a_release_does_not_compile() {
        let (mut graph, lockfile) = small();
        let tree = "ade-cli v1.0.0 (/x/cli)\nbuilder v1.0.0 (proc-macro)\n\nbuilder v1.0.0 (*)\n";
        let built = titles(tree);
        assert_eq!(built.len(), 2, "{built:?}");
        graph.packages.retain(|package| built.contains(&title(&package.name, &package.version)));
        let sbom = crates(&graph, &lockfile, CLI, "t").unwrap();
        assert_eq!(names(&sbom), ["builder"]);
        let mut ends = sbom.dependencies.iter().flat_map(|needs| &needs.depends_on);
        assert!(!ends.any(|end| end.contains("linked")), "{:?}", sbom.dependencies);
    }

    #[test]
    fn sbom_of_a_program_with_a_dashboard_has_npm_packages() {
        let (graph, lockfile) = small();
        let mut sbom = crates(&graph, &lockfile, CLI, "t").unwrap();
        sbom.add(&NpmLockfile::parse(DASHBOARD).unwrap());
        assert_eq!(names(&sbom), ["builder", "linked", "@x/ui", "core"], "without `lint`");
        let ui = &sbom.components[2];
        assert_eq!(ui.purl, "pkg:npm/%40x/ui@1.0.0");
        assert_eq!(ui.hashes[0], json!({ "alg": "SHA-512", "content": "abcdef" }));
    }

    #[test]
    fn sbom_has_the_required_fields_and_no_open_reference() {
        let (graph, lockfile) = small();
        let written = || {
            let mut sbom = crates(&graph, &lockfile, CLI, "t").unwrap();
            sbom.add(&NpmLockfile::parse(DASHBOARD).unwrap());
            serde_json::to_string(&sbom).unwrap()
        };
        assert_eq!(written(), written());
        let sbom: Value = serde_json::from_str(&written()).unwrap();
        assert_eq!(
            (&sbom["bomFormat"], &sbom["specVersion"]),
            (&json!("CycloneDX"), &json!("1.5"))
        );
        assert_eq!(sbom["version"], 1);
        let program = &sbom["metadata"]["component"];
        assert_eq!((&program["name"], &program["type"]), (&json!("ade"), &json!("application")));
        let parts = sbom["components"].as_array().unwrap().iter().chain([program]);
        let mut references = BTreeSet::new();
        for part in parts {
            for field in ["type", "name", "version", "purl", "bom-ref"] {
                assert!(part[field].as_str().is_some_and(|text| !text.is_empty()), "{part}");
            }
            assert!(references.insert(part["bom-ref"].as_str().unwrap()), "twice: {part}");
        }
        let mut edges = 0;
        for needs in sbom["dependencies"].as_array().unwrap() {
            for end in needs["dependsOn"].as_array().unwrap().iter().chain([&needs["ref"]]) {
                assert!(references.contains(end.as_str().unwrap()), "{end}");
                edges += 1;
            }
        }
        // Five packages; the program needs three of them, `builder` and `@x/ui` one each.
        assert_eq!(edges, 5 + 3 + 2);
    }

    #[test]
    fn sbom_of_an_unknown_program_is_an_error() {
        let (graph, lockfile) = small();
        let missing = Program { name: "x", package: "missing", has_dashboard: false };
        assert!(crates(&graph, &lockfile, &missing, "t").is_err());
    }
}
