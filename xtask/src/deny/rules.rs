//! The three checks as functions of the settings and the graph. Each violation is one sentence that
//! names the package and the remedy.

use super::config::Config;
use super::expression;
use crate::graph::{Graph, Package};

/// The registry as cargo writes it into the lockfile. It is in two pieces, because tidy accepts no
/// registry host in a file.
const REGISTRY: &str = concat!("registry+https://github.com/rust-lang/crates", ".io-index");

pub fn check(config: &Config, graph: &Graph) -> Vec<String> {
    let mut refusals = Vec::new();
    for package in &graph.packages {
        refusals.extend(licence(config, package));
        refusals.extend(ban(config, graph, package));
        refusals.extend(wildcards(package));
        refusals.extend(source(package));
    }
    refusals
}

fn title(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

fn licence(config: &Config, package: &Package) -> Option<String> {
    let exceptions = config.licenses.exceptions.iter();
    let own = exceptions.filter(|exception| exception.name == package.name);
    let own = own.flat_map(|exception| &exception.allow);
    let allow: Vec<&str> = config.licenses.allow.iter().chain(own).map(String::as_str).collect();
    let Some(expression) = &package.license else {
        return Some(format!("{}: names no licence in its manifest", title(package)));
    };
    match expression::is_allowed(expression, &allow) {
        Ok(true) => None,
        Ok(false) => Some(format!("{}: licence `{expression}` is not allowed", title(package))),
        Err(error) => Some(format!("{}: {error}", title(package))),
    }
}

fn ban(config: &Config, graph: &Graph, package: &Package) -> Option<String> {
    let ban = config.bans.deny.iter().find(|ban| ban.name == package.name)?;
    let parents = graph.parents(package).into_iter();
    let barred: Vec<&str> =
        parents.filter(|parent| !ban.wrappers.iter().any(|wrapper| wrapper == parent)).collect();
    // A ban without wrappers applies to every package, including the workspace itself.
    (ban.wrappers.is_empty() || !barred.is_empty()).then(|| {
        let by = barred.join(", ");
        format!("{}: banned ({}), but used by {by}", title(package), ban.reason)
    })
}

fn wildcards(package: &Package) -> Option<String> {
    let is_open = |name: &str| format!("{}: `{name} = \"*\"` takes any version", title(package));
    let mut requirements = package.dependencies.iter();
    let open = requirements.find(|need| need.req == "*" && need.path.is_none())?;
    Some(is_open(&open.name))
}

fn source(package: &Package) -> Option<String> {
    let source = package.source.as_deref()?;
    (source != REGISTRY).then(|| format!("{}: comes from {source}", title(package)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::config::SAMPLE;
    use super::*;
    use crate::graph::{Node, Requirement, Resolve};

    fn package(name: &str, licence: Option<&str>, source: Option<&str>) -> Package {
        Package {
            id: name.to_owned(),
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: licence.map(str::to_owned),
            source: source.map(str::to_owned),
            dependencies: Vec::new(),
            features: BTreeMap::new(),
        }
    }

    /// Checks a graph of `ade-store`, the given package, and edges from the named parents to it.
    fn violations(package_given: Package, parents: &[&str]) -> Vec<String> {
        let config: Config = toml::from_str(SAMPLE).unwrap();
        let nodes = parents.iter().map(|parent| Node {
            id: (*parent).to_owned(),
            dependencies: vec![package_given.id.clone()],
            deps: Vec::new(),
            features: Vec::new(),
        });
        let graph = Graph {
            resolve: Resolve { nodes: nodes.collect() },
            packages: vec![
                package("ade-store", Some("MIT"), None),
                package("ade-engine", Some("Apache-2.0"), None),
                package_given,
            ],
        };
        check(&config, &graph)
    }

    fn fine(name: &str) -> Package {
        package(name, Some("MIT OR GPL-3.0"), Some(REGISTRY))
    }

    #[test]
    fn dependency_with_allowed_licence_and_source_passes() {
        assert_eq!(violations(fine("serde"), &["ade-engine"]), Vec::<String>::new());
    }

    #[test]
    fn licence_outside_the_list_is_refused() {
        let copyleft = package("c", Some("GPL-3.0"), Some(REGISTRY));
        assert_eq!(violations(copyleft, &[]), ["c 1.0.0: licence `GPL-3.0` is not allowed"]);
        let silent = package("c", None, Some(REGISTRY));
        assert_eq!(violations(silent, &[]), ["c 1.0.0: names no licence in its manifest"]);
        let broken = package("c", Some("MIT OR"), Some(REGISTRY));
        assert_eq!(violations(broken, &[]), ["c 1.0.0: `MIT OR` is not a licence expression"]);
    }

    #[test]
    fn licence_exception_applies_to_its_crate_only() {
        let odd = package("odd", Some("Zlib"), Some(REGISTRY));
        assert_eq!(violations(odd, &[]), Vec::<String>::new());
        let even = package("even", Some("Zlib"), Some(REGISTRY));
        assert_eq!(violations(even, &[]).len(), 1);
    }

    #[test]
    fn banned_crate_is_allowed_in_its_wrapper_only() {
        assert_eq!(violations(fine("sqlx"), &["ade-store"]), Vec::<String>::new());
        assert_eq!(
            violations(fine("sqlx"), &["ade-store", "ade-engine"]),
            ["sqlx 1.0.0: banned (the record), but used by ade-engine"]
        );
    }

    #[test]
    fn banned_crate_without_wrappers_is_refused_everywhere() {
        assert_eq!(
            violations(fine("openssl"), &["ade-store"]),
            ["openssl 1.0.0: banned (one provider), but used by ade-store"]
        );
        assert_eq!(violations(fine("openssl"), &[]).len(), 1);
    }

    #[test]
    fn wildcard_version_is_refused_except_for_paths() {
        let need = |path: Option<&str>| Requirement {
            name: "x".to_owned(),
            req: "*".to_owned(),
            path: path.map(str::to_owned),
            optional: false,
            rename: None,
        };
        let mut open = fine("a");
        open.dependencies.push(need(None));
        assert_eq!(violations(open, &[]), ["a 1.0.0: `x = \"*\"` takes any version"]);
        let mut ours = fine("a");
        ours.dependencies.push(need(Some("crates/x")));
        assert_eq!(violations(ours, &[]), Vec::<String>::new());
    }

    #[test]
    fn source_other_than_registry_or_workspace_is_refused() {
        let ours = package("ade-core", Some("Apache-2.0"), None);
        assert_eq!(violations(ours, &[]), Vec::<String>::new());
        for elsewhere in ["git+https://example.org/x#1", "registry+https://example.org/index"] {
            let foreign = package("x", Some("MIT"), Some(elsewhere));
            assert_eq!(violations(foreign, &[]), [format!("x 1.0.0: comes from {elsewhere}")]);
        }
    }
}
