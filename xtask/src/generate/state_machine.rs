//! Generates `docs/reference/state-machine.md` from the core's transition table: the diagram, every
//! transition, and the commands that each state accepts. The table is used directly; nothing is
//! parsed.

use std::fmt::Write as _;

use ade_core::task::{
    CommandKind, DecisionOutcome, MOVES, Move, State, SubState, To, Weight, find_move,
};
use anyhow::Result;

use super::{Generated, NOTICE};
use crate::tree::Tree;

const SOURCE: &str = "crates/core/src/task/moves.rs";
const DOCUMENT: &str = "docs/reference/state-machine.md";

pub fn generate(_tree: &Tree) -> Result<Vec<Generated>> {
    Ok(vec![Generated { path: DOCUMENT.to_owned(), text: document(MOVES)? }])
}

fn document(moves: &[Move]) -> Result<String> {
    let mut out = format!("# Task state machine\n\n{NOTICE} Its source is `{SOURCE}`.\n\n");
    out.push_str(
        "A command that is not in this table is refused with the current state, the time it was \
         entered, and the states\nthat allow the command. The access rules decide who may give a \
         command; the column `by` is informative.\n\n",
    );
    out.push_str("```mermaid\nstateDiagram-v2\n    direction LR\n");
    for line in arrows(moves) {
        writeln!(out, "    {line}")?;
    }
    out.push_str("```\n\n## Transitions\n\n| command | from | to | by |\n|---|---|---|---|\n");
    for row in moves.iter().filter(|row| row.weight == Weight::Act) {
        writeln!(out, "| `{}` | {} | {} | {} |", row.command, from(row), to(row), row.by)?;
    }
    out.push_str(
        "\n## Late reports\n\nThese reports are stored as evidence and change nothing; the \
         sender is informed.\n\n| command | in | by |\n|---|---|---|\n",
    );
    for row in moves.iter().filter(|row| row.weight == Weight::Evidence) {
        writeln!(out, "| `{}` | {} | {} |", row.command, from(row), row.by)?;
    }
    out.push_str("\n## What each state accepts\n\n| state | commands |\n|---|---|\n");
    for state in State::ALL {
        writeln!(out, "| {state} | {} |", accepted(state))?;
    }
    out.push_str(
        "\n## Sub-states and decisions\n\nA task has a `decision` with `outcome`, `reason`, `by`, \
         `at` and `revision` from its decision until it is\nsubmitted again. A sub-state is \
         derived from the state, the decision and the outcome of the\nexecution; it changes what \
         to do next, not which commands are accepted.\n\n| sub-state | state | because of | what \
         to do |\n|---|---|---|---|\n",
    );
    for sub_state in SubState::ALL {
        let (state, because, advice) = match sub_state {
            SubState::ChangesRequested => (
                State::Draft,
                format!("the decision `{}`", DecisionOutcome::ChangesRequested.as_str()),
                "amend the task, then submit it",
            ),
            SubState::ReleasedToHost => (
                State::Completed,
                "the outcome `released_to_host`".to_owned(),
                "check the result at the agent's host",
            ),
        };
        writeln!(out, "| {} | {state} | {because} | {advice} |", sub_state.as_str())?;
    }
    let outcomes = DecisionOutcome::ALL.map(|outcome| format!("`{}`", outcome.as_str()));
    writeln!(out, "\nOutcomes: {}.", outcomes.join(", "))?;
    Ok(out)
}

/// Returns one arrow for each pair of states, labelled with every command that makes it.
fn arrows(moves: &[Move]) -> Vec<String> {
    let mut arrows: Vec<(String, String, Vec<&str>)> = Vec::new();
    for row in moves.iter().filter(|row| row.weight == Weight::Act) {
        let sources: Vec<String> = match row.from {
            [] => vec!["[*]".to_owned()],
            states => states.iter().map(ToString::to_string).collect(),
        };
        let targets: Vec<String> = row
            .to
            .iter()
            .filter_map(|to| match to {
                To::State(state) => Some(state.to_string()),
                To::Gone => Some("[*]".to_owned()),
                To::NewDraft => None,
            })
            .collect();
        for source in &sources {
            for target in targets.iter().filter(|target| *target != source) {
                let known = arrows.iter_mut().find(|(a, b, _)| a == source && b == target);
                match known {
                    Some((_, _, names)) => names.push(row.command.as_str()),
                    None => {
                        arrows.push((source.clone(), target.clone(), vec![row.command.as_str()]));
                    }
                }
            }
        }
    }
    arrows.into_iter().map(|(a, b, names)| format!("{a} --> {b}: {}", names.join(", "))).collect()
}

fn from(row: &Move) -> String {
    if row.from.is_empty() {
        return "–".to_owned();
    }
    row.from.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn to(row: &Move) -> String {
    if row.to.is_empty() {
        return "stays".to_owned();
    }
    let names = row.to.iter().map(|to| match to {
        To::State(state) => state.to_string(),
        To::Gone => "deleted".to_owned(),
        To::NewDraft => "stays, and a new DRAFT names it".to_owned(),
    });
    names.collect::<Vec<_>>().join(" or ")
}

fn accepted(state: State) -> String {
    let names: Vec<String> = CommandKind::ALL
        .iter()
        .filter(|command| find_move(**command, state).is_some_and(|row| row.weight == Weight::Act))
        .map(|command| format!("`{command}`"))
        .collect();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_diagram_has_every_state_and_no_self_loops() {
        let lines = arrows(MOVES);
        for state in State::ALL {
            let name = state.as_str();
            assert!(lines.iter().any(|line| line.contains(name)), "{name} is missing");
            assert!(!lines.iter().any(|line| line.starts_with(&format!("{name} --> {name}:"))));
        }
        assert!(lines.contains(&"[*] --> DRAFT: create".to_owned()));
        assert!(lines.contains(&"DRAFT --> [*]: delete".to_owned()));
    }

    #[test]
    fn state_diagram_separates_evidence_from_commands() {
        let text = document(MOVES).unwrap();
        let (acts, late) = text.split_once("## Late reports").unwrap();
        assert!(acts.contains("| `approve` | REVIEWING | REVIEWING or APPROVED |"), "{acts}");
        assert!(late.contains("| `finish_apply` | UNKNOWN |"), "{late}");
    }
}
