//! Mutation tests: every line whose removal leaves a valid script is removed once. The regression
//! cases and random histories must then find a difference from the model.

use std::fmt::Write as _;

use ade_testkit::Cluster;
use ade_testkit::redis_node::Node;

use super::super::scripts::{Scripts, Source, Sources};
use super::conformance::live;
use super::hints;
use super::rebuilding;
use super::rig::{Bench, sources};
use super::traps;

const SEEDS: u64 = 24;
const STEPS: usize = 300;

struct Mutant {
    sources: Sources,
    place: String,
    line: String,
}

/// All sources except the clock, which is replaced in tests.
fn all(sources: &mut Sources) -> impl Iterator<Item = &mut Source> {
    let Sources { first, at_once, parts, commands } = sources;
    first.iter_mut().skip(1).chain(at_once).chain(parts).chain(commands)
}

/// Removes each line that does something; lines that only open or close a block cannot be removed.
fn mutants() -> Vec<Mutant> {
    let whole = sources();
    let mut mutants = Vec::new();
    for (at, source) in all(&mut whole.clone()).enumerate() {
        for (number, line) in source.text.lines().enumerate().skip(1) {
            let code = line.trim();
            if code.is_empty() || code.starts_with("--") {
                continue;
            }
            let mut sources = whole.clone();
            let changed = all(&mut sources).nth(at).unwrap();
            let kept = source.text.lines().enumerate().filter(|(other, _)| *other != number);
            changed.text = kept.flat_map(|(_, line)| [line, "\n"]).collect();
            let place = format!("{}.lua:{}", source.name, number + 1);
            mutants.push(Mutant { sources, place, line: code.to_owned() });
        }
    }
    mutants
}

/// Returns whether Redis accepts all scripts.
async fn compiles(scripts: &Scripts, node: &Node) -> bool {
    for script in [
        &scripts.acquire,
        &scripts.renew,
        &scripts.release,
        &scripts.cancel,
        &scripts.break_lease,
        &scripts.refence,
        &scripts.register,
        &scripts.sweep,
        &scripts.rebuild,
        &scripts.adopt,
    ] {
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(script.text());
        if node.ask::<String>(&load).await.is_err() {
            return false;
        }
    }
    true
}

/// A short history runs first, because it detects most mutants.
async fn is_noticed(bench: &Bench, cluster: &Cluster) -> Option<String> {
    let seeds = std::iter::once((SEEDS, STEPS / 3)).chain((0..SEEDS).map(|seed| (seed, STEPS)));
    for (seed, steps) in seeds {
        if let Err(message) = live(bench, seed, steps, |_, _| {}).await {
            return Some(message);
        }
        if seed == SEEDS {
            if let Err(message) = traps::all(bench).await {
                return Some(message);
            }
            if let Err(message) = rebuilding::all(bench).await {
                return Some(message);
            }
            if let Err(message) = hints::case(bench, cluster).await {
                return Some(message);
            }
        }
    }
    None
}

/// Run by `cargo xtask mutants-lua`, which sets the file for the results.
#[tokio::test]
#[ignore = "takes a quarter of an hour"]
async fn mutants_without_one_script_line_are_detected() {
    let out = std::env::var("ADE_MUTANTS_OUT").unwrap();
    let mut cluster = Cluster::owned().await;
    let mut bench = Bench::at(&cluster).await;
    assert_eq!(is_noticed(&bench, &cluster).await, None, "the unchanged scripts pass");
    let mut report = String::new();
    for mutant in mutants() {
        let scripts = Scripts::new(&mutant.sources);
        if !compiles(&scripts, &cluster.nodes()[0]).await {
            continue;
        }
        let noticed = is_noticed(&bench.changed(&mutant.sources), &cluster).await;
        let word = if noticed.is_some() { "caught" } else { "missed" };
        let _ = writeln!(report, "{word} {} {}", mutant.place, mutant.line);
        println!("{word} {} {}", mutant.place, mutant.line);
        std::fs::write(&out, &report).unwrap();
        if cluster.check().await.is_err() {
            // A script that loops for ever has already written, so only stopping its server ends
            // it.
            cluster = Cluster::owned().await;
            bench = Bench::at(&cluster).await;
        }
    }
}
