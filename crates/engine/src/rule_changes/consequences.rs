//! What a change means for approvals: its findings, and the recent tasks that would have needed
//! fewer people.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ade_api::policies::ReplayedTask;
use ade_core::ids::{PendingChangeId, TaskId, UserId};
use ade_core::limits::{
    CHANGE_EVIDENCE_DAYS, CHANGE_EVIDENCE_SHOWN, CHANGE_EVIDENCE_TASKS, CHANGE_FINDINGS_SHOWN,
};
use ade_core::policy::Strictness;
use ade_core::risk::RiskRules;
use ade_core::rule_change::{
    AgentRules, ObjectionObstacle, RuleFinding, RuleSet, admins, compare_objections, compare_rules,
    is_at_least_as_strict, overall,
};
use ade_store::tenant_config::{self, TenantConfig};
use ade_store::{pending_changes, tasks};

use crate::app::App;
use crate::command::admin_command::{AdminCommand, Applied};
use crate::error::Error;
use crate::policies::compare_task;

const DAY: Duration = Duration::from_hours(24);

/// What a change is compared with, besides the tenant configuration. It is read before the change
/// is written.
#[derive(Debug)]
pub(super) struct Before {
    /// The open changes that take effect without a second admin.
    pub waiting: BTreeSet<PendingChangeId>,
    obstacles: BTreeSet<ObjectionObstacle>,
}

impl Before {
    pub(super) async fn read(act: &mut AdminCommand<'_>) -> Result<Self, Error> {
        let waiting = pending_changes::waiting(&mut act.tx).await?;
        let obstacles = obstacles(act, &waiting).await?;
        Ok(Self { waiting, obstacles })
    }
}

async fn obstacles(
    act: &mut AdminCommand<'_>,
    waiting: &BTreeSet<PendingChangeId>,
) -> Result<BTreeSet<ObjectionObstacle>, Error> {
    if waiting.is_empty() {
        return Ok(BTreeSet::new());
    }
    Ok(pending_changes::obstacles(&mut act.tx).await?)
}

/// The findings of a change, and the recent tasks that it would have made easier.
#[derive(Debug)]
pub(super) struct Consequences {
    pub findings: Vec<RuleFinding>,
    pub tasks: Vec<ReplayedTask>,
}

impl Consequences {
    /// Compares the rules before the command with those after it, as its transaction sees them.
    pub(super) async fn of(
        act: &mut AdminCommand<'_>,
        by: UserId,
        applied: &Applied,
        former: &Before,
    ) -> Result<Self, Error> {
        let app = act.app();
        // The cache must not contain a configuration that may be rolled back.
        let new = tenant_config::load(&mut act.tx, app.books.base()).await?;
        let mut old = rules(app, &act.book);
        // With one admin, no other admin relies on a freeze that this admin has set.
        let own: Vec<_> =
            act.book.freezes.iter().filter(|freeze| freeze.set_by != by).cloned().collect();
        if admins(&act.book.directory).len() < 2 {
            old.freezes = &own;
        }
        let mut findings = compare_rules(&old, &rules(app, &new));
        findings.extend(applied.findings.iter().cloned());
        let obstacles = obstacles(act, &former.waiting).await?;
        findings.extend(compare_objections(&former.obstacles, &obstacles, &act.book.names));
        let before = Arc::clone(&act.book);
        let tasks = easier_tasks(act, &before, &new).await?;
        Ok(Self { findings, tasks })
    }

    /// Combines the findings; a recent task that would have needed fewer people counts as well.
    pub(super) fn verdict(&self) -> Strictness {
        let of_tasks = if self.tasks.is_empty() { Strictness::Same } else { Strictness::Looser };
        overall(&self.findings).and(of_tasks)
    }

    /// Returns whether the change needs a second admin.
    pub(super) fn is_loosening(&self) -> bool {
        !is_at_least_as_strict(self.verdict())
    }

    /// Shortens a long list; the last finding counts the others.
    pub(super) fn shortened(mut self) -> Self {
        let more = self.findings.len().saturating_sub(CHANGE_FINDINGS_SHOWN);
        if more > 0 {
            self.findings.truncate(CHANGE_FINDINGS_SHOWN);
            let sentence = format!("{more} more consequences of the same change");
            self.findings.push(RuleFinding::new(Strictness::Mixed, sentence));
        }
        self
    }
}

fn rules<'a>(app: &'a App, book: &'a TenantConfig) -> RuleSet<'a> {
    let agents = book.agents.iter().map(|(id, agent)| {
        let capabilities = &agent.capabilities;
        (*id, AgentRules { name: &agent.name, owner: agent.owner, capabilities })
    });
    RuleSet {
        directory: &book.directory,
        names: &book.names,
        agents: agents.collect(),
        policies: &book.policies,
        delegations: &book.delegations,
        freezes: &book.freezes,
        risk: book.risk.as_ref().map_or(&app.risk, RiskRules::settings),
        flags: &book.flags,
        approval: book.timeouts.approval,
    }
}

/// Returns recent tasks, the newest first, that would have needed less under the new rules. Scores
/// are those that the tasks had: what other weights mean is one of the findings.
async fn easier_tasks(
    act: &mut AdminCommand<'_>,
    old: &TenantConfig,
    new: &TenantConfig,
) -> Result<Vec<ReplayedTask>, Error> {
    let (was, is) = (&old.timeouts.approval, &new.timeouts.approval);
    if old.policies == new.policies && was == is {
        return Ok(Vec::new());
    }
    let since = act.tx.now().minus(DAY * CHANGE_EVIDENCE_DAYS);
    let start = (since, TaskId::from_u128(0));
    let recent = tasks::replay(&mut act.tx, start, CHANGE_EVIDENCE_TASKS).await?;
    let compared = recent
        .iter()
        .rev()
        .map(|past| compare_task(past, (&old.policies, was), (&new.policies, is)));
    let is_easier =
        |task: &ReplayedTask| task.without_a_person || !is_at_least_as_strict(task.verdict);
    Ok(compared.filter(is_easier).take(CHANGE_EVIDENCE_SHOWN).collect())
}
