//! `ade locks graph`: the lock wait graph as text, Graphviz or Mermaid.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ade_api::locks::LockGraph;
use ade_core::change::Digest;

use super::lease::who;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::tasks::short;

pub fn show(
    graph: &LockGraph,
    (is_dot, is_mermaid): (bool, bool),
    cx: &Context,
) -> Result<Exit, Failure> {
    cx.output.show(graph, || match (is_dot, is_mermaid) {
        (true, _) => dot(graph),
        (_, true) => mermaid(graph),
        (false, false) => words(graph),
    })?;
    Ok(Exit::Done)
}

/// Maps owner hashes to display names, taken from their leases.
fn names(graph: &LockGraph) -> BTreeMap<Digest, String> {
    // One agent may run several processes, so the short hash is appended.
    let name = |owner: Digest, who: String| (owner, format!("{who} {}", short(owner)));
    let leases = graph.leases.iter().map(|lease| &lease.summary);
    leases.map(|lease| name(lease.owner_hash, who(lease))).collect()
}

fn name(names: &BTreeMap<Digest, String>, owner: Digest) -> String {
    names.get(&owner).cloned().unwrap_or_else(|| short(owner))
}

fn words(graph: &LockGraph) -> String {
    if graph.edges.is_empty() {
        return "No one is waiting for a lock.\n  next     ade locks list\n".to_owned();
    }
    let names = names(graph);
    let mut out = String::new();
    for root in &graph.root_blockers {
        let name = name(&names, root.owner_hash);
        let _ = writeln!(out, "{} blocked by {name}", root.blocked);
    }
    for edge in &graph.edges {
        let (waiter, waits_for) = (name(&names, edge.waiter), name(&names, edge.waits_for));
        let _ = writeln!(out, "  {waiter} waits for {waits_for}");
    }
    if graph.has_more {
        out.push_str("  … and more\n");
    }
    out
}

/// Formats the graph for Graphviz. IDs and hashes need no escaping.
fn dot(graph: &LockGraph) -> String {
    let names = names(graph);
    let mut out = "digraph locks {\n  rankdir=LR;\n".to_owned();
    for edge in &graph.edges {
        let (waiter, waits_for) = (name(&names, edge.waiter), name(&names, edge.waits_for));
        let _ = writeln!(out, "  \"{waiter}\" -> \"{waits_for}\";");
    }
    out.push_str("}\n");
    out
}

fn mermaid(graph: &LockGraph) -> String {
    let names = names(graph);
    let mut out = "flowchart LR\n".to_owned();
    for edge in &graph.edges {
        let (waiter, waits_for) = (name(&names, edge.waiter), name(&names, edge.waits_for));
        let (from, to) = (short(edge.waiter), short(edge.waits_for));
        let _ = writeln!(out, "  n{from}[{waiter}] --> n{to}[{waits_for}]");
    }
    out
}
