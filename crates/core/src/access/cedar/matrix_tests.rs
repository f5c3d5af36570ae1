//! The permission matrix as a reader expects it, written by hand and not derived from the
//! policies: every action against every kind of actor.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::actor::{Actor, Role};
use crate::ids::{AgentId, UserId};

/// The expected matrix: `Y` is allowed, `-` is denied. The object column has the kind of object:
/// `tenant`; `own` or `other` for an object that is or is not owned by the actor; `task`, with the
/// relation that the actor has by its column, and `task+x` where it also has relation x. The
/// columns: the author; a reviewer, assigned (+) or not; an admin, assigned or not, or the author
/// too; an assigned reviewer who edited the change; operator; auditor; worker; the agent of the
/// author; the agent of another person.
const MATRIX: &str = "
action                 object        aut re+ rev adm ad+ ada edi ope aud sys agt for
task.create            tenant          Y   -   -   Y   Y   Y   -   -   -   -   Y   Y
task.delete            task            Y   -   -   Y   Y   Y   -   -   -   -   -   -
task.comment           task            Y   Y   Y   Y   Y   Y   Y   Y   Y   -   Y   -
task.comment           task+permit     Y   Y   Y   Y   Y   Y   Y   Y   Y   -   Y   Y
task.comment           task+executor   Y   Y   Y   Y   Y   Y   Y   Y   Y   -   Y   Y
task.amend             task            Y   -   -   Y   Y   Y   -   -   -   -   Y   -
task.submit            task            Y   -   -   Y   Y   Y   -   -   -   -   Y   -
task.retry             task            Y   -   -   Y   Y   Y   -   -   -   -   -   -
task.resubmit          task            Y   -   -   -   -   Y   -   -   -   -   -   -
task.cancel            task            Y   -   -   Y   Y   Y   -   -   -   Y   Y   -
task.read              task            Y   Y   Y   Y   Y   Y   Y   Y   Y   Y   Y   -
task.read              task+permit     Y   Y   Y   Y   Y   Y   Y   Y   Y   Y   Y   Y
task.read              task+executor   Y   Y   Y   Y   Y   Y   Y   Y   Y   Y   Y   Y
task.approve           task            -   Y   -   -   Y   -   -   -   -   -   -   -
task.reject            task            -   Y   -   -   Y   -   -   -   -   -   -   -
task.request_changes   task            -   Y   -   -   Y   -   -   -   -   -   -   -
task.delegate          task            -   Y   -   -   Y   -   -   -   -   -   -   -
task.withdraw_vote     task            -   -   -   -   -   -   -   -   -   -   -   -
task.withdraw_vote     task+voter      Y   Y   Y   Y   Y   Y   Y   Y   Y   -   -   -
task.override          task            -   -   -   Y   Y   Y   -   -   -   -   -   -
task.confirm_override  task            -   -   -   Y   Y   -   -   -   -   -   -   -
task.confirm_override  task+asked      -   -   -   -   -   -   -   -   -   -   -   -
task.lapse_override    task            -   -   -   -   -   -   -   -   -   Y   -   -
task.open_review       task            -   -   -   -   -   -   -   -   -   Y   -   -
task.auto_approve      task            -   -   -   -   -   -   -   -   -   Y   -   -
task.extend            task            -   Y   -   Y   Y   Y   Y   -   -   -   -   -
task.escalate          task            -   -   -   -   -   -   -   -   -   Y   -   -
task.warn_expiry       task            -   -   -   -   -   -   -   -   -   Y   -   -
task.expire            task            -   -   -   -   -   -   -   -   -   Y   -   -
task.reopen_review     task            -   -   -   -   -   -   -   -   -   Y   -   -
task.requeue_apply     task            -   -   -   -   -   -   -   -   -   Y   -   -
task.lose_apply        task            -   -   -   -   -   -   -   -   -   Y   -   -
task.reconcile         task            -   -   -   Y   Y   Y   -   -   -   -   -   -
task.reconcile         task+owner      Y   Y   Y   Y   Y   Y   Y   Y   Y   -   -   -
task.start_apply       task            -   -   -   -   -   -   -   -   -   Y   Y   -
task.start_apply       task+executor   -   -   -   -   -   -   -   -   -   Y   Y   Y
task.begin_apply       task            -   -   -   -   -   -   -   -   -   -   -   -
task.begin_apply       task+permit     -   -   -   -   -   -   -   -   -   Y   Y   Y
task.drift_apply       task            -   -   -   -   -   -   -   -   -   -   -   -
task.drift_apply       task+permit     -   -   -   -   -   -   -   -   -   Y   Y   Y
task.withdraw_permit   task            -   -   -   -   -   -   -   -   -   -   -   -
task.withdraw_permit   task+permit     -   -   -   -   -   -   -   -   -   Y   Y   Y
task.finish_apply      task            -   -   -   -   -   -   -   -   -   -   -   -
task.finish_apply      task+permit     -   -   -   -   -   -   -   -   -   Y   Y   Y
task.fail_apply        task            -   -   -   -   -   -   -   -   -   -   -   -
task.fail_apply        task+permit     -   -   -   -   -   -   -   -   -   Y   Y   Y
execution.claim        own             -   -   -   -   -   -   -   -   -   Y   Y   Y
execution.claim        other           -   -   -   -   -   -   -   -   -   -   -   -
execution.heartbeat    own             -   -   -   -   -   -   -   -   -   Y   Y   Y
execution.heartbeat    other           -   -   -   -   -   -   -   -   -   -   -   -
lock.acquire           own             -   -   -   -   -   -   -   -   -   Y   Y   Y
lock.acquire           other           -   -   -   -   -   -   -   -   -   -   -   -
lock.break             tenant          -   -   -   Y   Y   Y   -   Y   -   -   -   -
freeze.set             tenant          -   -   -   Y   Y   Y   -   Y   -   -   -   -
freeze.lift            tenant          -   -   -   Y   Y   Y   -   Y   -   -   -   -
delegation.edit        own             Y   Y   Y   Y   Y   Y   Y   Y   Y   -   -   -
delegation.edit        other           -   -   -   Y   Y   Y   -   -   -   -   -   -
policy.draft           tenant          -   -   -   Y   Y   Y   -   -   -   -   -   -
after_review.close     own             -   -   -   -   -   -   -   -   -   -   -   -
after_review.close     other           -   Y   Y   Y   Y   Y   Y   -   Y   -   -   -
policy.publish         own             -   -   -   -   -   -   -   -   -   -   -   -
policy.publish         other           -   -   -   Y   Y   Y   -   -   -   -   -   -
change.publish         own             -   -   -   -   -   -   -   -   -   -   -   -
change.publish         other           -   -   -   Y   Y   Y   -   -   -   -   -   -
change.close           own             Y   Y   Y   Y   Y   Y   Y   Y   Y   -   -   -
change.close           other           -   -   -   Y   Y   Y   -   -   -   -   -   -
user.administer        tenant          -   -   -   Y   Y   Y   -   -   -   -   -   -
agent.administer       tenant          -   -   -   Y   Y   Y   -   -   -   -   -   -
agent.order            own             Y   Y   Y   Y   Y   Y   Y   Y   Y   -   -   -
agent.order            other           -   -   -   Y   Y   Y   -   -   -   -   -   -
agent.configure        own             Y   Y   Y   Y   Y   Y   Y   Y   Y   -   -   -
agent.configure        other           -   -   -   Y   Y   Y   -   -   -   -   -   -
agent.read_config      own             Y   Y   Y   Y   Y   Y   Y   Y   Y   -   Y   Y
agent.read_config      other           -   -   -   Y   Y   Y   -   -   -   -   -   -
resource.edit          tenant          -   -   -   Y   Y   Y   -   -   -   -   -   -
settings.edit          tenant          -   -   -   Y   Y   Y   -   -   -   -   -   -
webhook.administer     tenant          -   -   -   Y   Y   Y   -   -   -   -   -   -
webhook.read           tenant          -   -   -   Y   Y   Y   -   -   -   -   -   -
event_consumer.read    tenant          -   -   -   Y   Y   Y   -   Y   -   -   -   -
on_call.edit           tenant          -   -   -   Y   Y   Y   -   Y   -   -   -   -
event_consumer.redrive tenant          -   -   -   Y   Y   Y   -   Y   -   -   -   -
audit.read             tenant          -   -   -   Y   Y   Y   -   -   Y   Y   -   -
audit.read             task            Y   Y   -   Y   Y   Y   Y   -   Y   Y   Y   -
audit.read             task+voter      Y   Y   Y   Y   Y   Y   Y   Y   Y   Y   Y   -
";

pub(super) struct Case {
    pub(super) action: Action,
    pub(super) object: Object,
    pub(super) column: &'static str,
    pub(super) actor: Actor,
    pub(super) roles: BTreeSet<Role>,
    pub(super) may: bool,
}

impl Case {
    pub(super) fn question(&self, active: bool) -> Question<'_> {
        Question {
            actor: &self.actor,
            roles: &self.roles,
            active,
            action: self.action,
            object: self.object,
        }
    }
}

fn actor_of(column: &str) -> (Actor, &'static str, TaskRelation) {
    let user = Actor::user(UserId::from_u128(1));
    let agent = Actor::agent(AgentId::from_u128(2), UserId::from_u128(1));
    let stranger = TaskRelation::default();
    let author = TaskRelation { is_author: true, is_separated: true, ..stranger };
    let assigned = TaskRelation { is_assigned: true, ..stranger };
    let own_agent = TaskRelation { is_own_agent: true, is_separated: true, ..stranger };
    match column {
        "aut" => (user, "author", author),
        "re+" => (user, "reviewer", assigned),
        "rev" => (user, "reviewer", stranger),
        "adm" => (user, "admin", stranger),
        "ad+" => (user, "admin", assigned),
        "ada" => {
            let is_assigned = true;
            (user, "admin", TaskRelation { is_assigned, ..author })
        }
        "edi" => {
            let is_separated = true;
            (user, "reviewer", TaskRelation { is_separated, ..assigned })
        }
        "ope" => (user, "operator", stranger),
        "aud" => (user, "auditor", stranger),
        "sys" => (Actor::system("expirer"), "", stranger),
        "agt" => (agent, "author", own_agent),
        "for" => (agent, "author", stranger),
        other => panic!("no such column: {other}"),
    }
}

fn object_of(text: &str, mut standing: TaskRelation) -> Object {
    match text {
        "tenant" => return Object::Tenant,
        "own" => return Object::Own { is_own: true },
        "other" => return Object::Own { is_own: false },
        "task" => {}
        "task+permit" => standing.holds_permit = true,
        "task+executor" => standing.is_executor = true,
        "task+voter" => standing.is_voter = true,
        "task+asked" => standing.is_first_override_admin = true,
        "task+owner" => standing.is_resource_owner = true,
        other => panic!("no such object: {other}"),
    }
    Object::Task(standing)
}

pub(super) fn cases() -> Vec<Case> {
    let by_name: BTreeMap<_, _> = Action::ALL.iter().map(|a| (a.as_str(), *a)).collect();
    let mut lines = MATRIX.lines().filter(|line| !line.is_empty());
    let columns: Vec<&'static str> = lines.next().unwrap().split_whitespace().skip(2).collect();
    let mut cases = Vec::new();
    for line in lines {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells.len(), columns.len() + 2, "{line}");
        for (column, cell) in columns.iter().zip(&cells[2..]) {
            let (actor, role, standing) = actor_of(column);
            cases.push(Case {
                action: by_name[cells[0]],
                object: object_of(cells[1], standing),
                column,
                actor,
                roles: Some(role).filter(|r| !r.is_empty()).map(Role::new).into_iter().collect(),
                may: match *cell {
                    "Y" => true,
                    "-" => false,
                    other => panic!("neither Y nor -: {other}"),
                },
            });
        }
    }
    cases
}

#[test]
fn access_matrix_agrees_with_decisions_in_every_cell() {
    let access = Access::new().unwrap();
    let wrong: Vec<String> = cases()
        .iter()
        .filter(|case| access.check(&case.question(true)).is_ok() != case.may)
        .map(|case| {
            let verdict = access.check(&case.question(true));
            format!("{} by {} on {:?}: {verdict:?}", case.action, case.column, case.object)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn access_matrix_has_a_row_for_every_action() {
    let written: BTreeSet<Action> = cases().iter().map(|case| case.action).collect();
    assert_eq!(written, Action::ALL.iter().copied().collect());
}

#[test]
fn inactive_user_is_denied_every_action() {
    let access = Access::new().unwrap();
    for case in cases() {
        let denied = access.check(&case.question(false)).unwrap_err();
        let agent = matches!(case.actor, Actor::Agent { .. });
        if !agent || case.action.class().is_open_to_agents() {
            assert_eq!(denied.rule.as_deref(), Some("inactive"), "{}", case.action);
        }
    }
}
