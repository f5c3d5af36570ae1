//! The rulebook: everything besides the task that a decision needs of a tenant, under one version.
//! Triggers raise the version with every change, so a rulebook that was read is valid as long as
//! its version is current. Caching is not part of this module.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ade_core::actor::{Directory, Person, Role};
use ade_core::agent::OrderKind;
use ade_core::approval::delegation::{Conditions, Delegation, DelegationKind};
use ade_core::flag::{Flag, Switches};
use ade_core::freeze::{Freeze, FreezeExtent};
use ade_core::ids::{AgentId, DelegationId, FreezeId, TenantId, UserId};
use ade_core::policy::{Pattern, Policy};
use ade_core::risk::{self, Thresholds};
use ade_core::task::AuthorityAge;
use ade_core::time::Timestamp;
use ade_core::timeouts::Timeouts;
use serde::Deserialize;
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::tenants::TenantIdentity;
use crate::tx::Tx;
use crate::{agents, policies, settings};

/// Expired rules leave the rulebook this long after their end, so that clock differences do not
/// matter.
const RULEBOOK_CLOCK_SLACK: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantConfig {
    /// The tenant. Creating a second one raises the version of the first, so `is_only` is current.
    pub tenant: TenantIdentity,
    /// Whether the tenant is in setup: its rules change without a second admin.
    pub is_in_setup: bool,
    /// How old roles must be to count for tasks of high and critical risk.
    pub authority: AuthorityAge,
    /// The version; zero until the first person is created.
    pub version: i64,
    pub directory: Directory,
    pub names: BTreeMap<UserId, String>,
    pub agents: BTreeMap<AgentId, AgentEntry>,
    /// The current versions of the enabled policies.
    pub policies: Vec<Policy>,
    /// The active delegations; some may not have begun, or may have just ended.
    pub delegations: Vec<Delegation>,
    /// Freezes that are not lifted; some may have just expired.
    pub freezes: Vec<Freeze>,
    /// The risk settings; `None` until the tenant sets them.
    pub risk: Option<risk::RiskRules>,
    /// The thresholds of the tenant, or of the installation if it has none.
    pub thresholds: Thresholds,
    /// The enabled flags.
    pub flags: BTreeSet<Flag>,
    /// The timeouts of the tenant, or of the installation if it has none.
    pub timeouts: Timeouts,
}

impl TenantConfig {
    /// Returns the policy as it applies here: a flag may widen its clause.
    pub fn effective(&self, policy: Policy) -> Policy {
        if !self.flags.contains(&Flag::AutoApproveLowRisk) {
            return policy;
        }
        let floor = self.thresholds.low_below();
        Policy { document: policy.document.widened_to(floor), ..policy }
    }
}

/// The defaults of the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Base {
    pub timeouts: Timeouts,
    pub thresholds: Thresholds,
    /// How old roles, and passkeys enrolled after a reset, must be to count for tasks of high and
    /// critical risk.
    pub authority_age: Duration,
    pub flags: Switches,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    pub name: String,
    pub owner: UserId,
    /// Whether the agent is not revoked.
    pub is_active: bool,
    /// The types of tasks it may apply. An invalid pattern covers nothing.
    pub capabilities: Vec<Pattern>,
    /// The number of tasks it applies at once.
    pub max_tasks: u32,
    pub order: Option<OrderKind>,
    /// The version of its configuration; 0 without a configuration.
    pub config_version: u32,
}

impl AgentEntry {
    /// Returns whether the agent may get new work. It finishes running work in any case.
    pub fn is_taking_work(&self) -> bool {
        self.is_active && self.order.is_none()
    }
}

/// Returns the version as of this statement. Under the tenant lock it cannot change before the
/// commit.
pub async fn version(tx: &mut Tx) -> Result<i64, StoreError> {
    let query = query_scalar!(
        r#"SELECT coalesce((SELECT version FROM rulebook WHERE tenant_id = $1), 0) AS "version!""#,
        tx.tenant().uuid(),
    );
    tx.fetch_value(query).await
}

/// Loads the rulebook in one statement, and so from one snapshot: the version matches the content.
pub async fn load(tx: &mut Tx, base: Base) -> Result<TenantConfig, StoreError> {
    let query = query_as!(
        Pages,
        r#"SELECT coalesce((SELECT version FROM rulebook WHERE tenant_id = $1), 0) AS "version!",
            (SELECT name FROM tenant WHERE tenant_id = $1) AS "name?",
            (SELECT setup_ended_at IS NULL FROM tenant WHERE tenant_id = $1) AS "is_in_setup?",
            has_several_tenants() AS "has_several!",
            (SELECT coalesce(json_agg(json_build_object('id', u.id, 'name', u.name,
                        'active', u.active, 'manager', u.manager_id,
                        'is_unconfirmed', u.unconfirmed_since IS NOT NULL,
                        'roles', coalesce(r.roles, '{}'),
                        'aliases', coalesce(a.aliases, '{}'))), '[]')
               FROM app_user u
               LEFT JOIN (SELECT user_id, json_object_agg(role,
                                  (extract(epoch FROM granted_at) * 1000000)::bigint) AS roles
                            FROM user_role
                           WHERE tenant_id = $1 GROUP BY user_id) r ON r.user_id = u.id
               LEFT JOIN (SELECT user_id, array_agg(alias_id) AS aliases FROM user_alias
                           WHERE tenant_id = $1 GROUP BY user_id) a ON a.user_id = u.id
              WHERE u.tenant_id = $1) AS "people!: Json<Vec<PersonRow>>",
            (SELECT coalesce(json_agg(json_build_object('id', a.id, 'name', a.name,
                        'owner', a.owner_id, 'is_active', a.revoked_at IS NULL,
                        'capabilities', a.capabilities, 'max_tasks', a.max_tasks,
                        'standing_order', a.standing_order,
                        'config_version', a.config_version)), '[]')
               FROM agent a WHERE a.tenant_id = $1) AS "agents!: Json<Vec<AgentRow>>",
            (SELECT coalesce(json_agg(json_build_object('id', v.policy_id,
                        'version', v.version, 'document', v.document) ORDER BY p.id), '[]')
               FROM policy p
               JOIN policy_version v ON (v.tenant_id, v.policy_id, v.version)
                                      = (p.tenant_id, p.id, p.current_version)
              WHERE p.tenant_id = $1 AND p.enabled) AS "policies!: Json<Vec<PolicyRow>>",
            (SELECT coalesce(json_agg(json_build_object('id', d.id, 'owner', d.owner_id,
                        'delegate_to', d.delegate_to, 'kind', d.kind,
                        'conditions', d.conditions, 'cascade', d.cascades,
                        'starts_at', (extract(epoch FROM d.starts_at) * 1000000)::bigint,
                        'expires_at', (extract(epoch FROM d.expires_at) * 1000000)::bigint)
                        ORDER BY d.id), '[]')
               FROM delegation d
              WHERE d.tenant_id = $1 AND d.active
                AND d.expires_at > moment() - make_interval(secs => $2))
                AS "delegations!: Json<Vec<DelegationRow>>",
            (SELECT coalesce(json_agg(json_build_object('id', f.id, 'scope', f.scope,
                        'target', f.target, 'reason', f.reason, 'set_by', f.set_by,
                        'ends_at', (extract(epoch FROM f.ends_at) * 1000000)::bigint)
                        ORDER BY f.id), '[]')
               FROM "freeze" f
              WHERE f.tenant_id = $1 AND f.lifted_at IS NULL
                AND coalesce(f.ends_at > moment() - make_interval(secs => $2), true))
                AS "freezes!: Json<Vec<FreezeRow>>",
            (SELECT s.document FROM risk_setting s WHERE s.tenant_id = $1
              ORDER BY s.version DESC LIMIT 1) AS "risk: Json<Value>",
            (SELECT coalesce(jsonb_object_agg(g.name, g.enabled), '{}') FROM feature_flag g
              WHERE g.tenant_id = $1) AS "flags!: Json<BTreeMap<String, bool>>",
            (SELECT t.document FROM time_setting t WHERE t.tenant_id = $1
              ORDER BY t.version DESC LIMIT 1) AS "times: Json<Value>""#,
        tx.tenant().uuid(),
        RULEBOOK_CLOCK_SLACK.as_secs_f64(),
    );
    Ok(bound(tx.tenant(), tx.fetch_one(query).await?, base)?)
}

struct Pages {
    version: i64,
    name: Option<String>,
    is_in_setup: Option<bool>,
    has_several: bool,
    people: Json<Vec<PersonRow>>,
    agents: Json<Vec<AgentRow>>,
    policies: Json<Vec<PolicyRow>>,
    delegations: Json<Vec<DelegationRow>>,
    freezes: Json<Vec<FreezeRow>>,
    risk: Option<Json<Value>>,
    flags: Json<BTreeMap<String, bool>>,
    times: Option<Json<Value>>,
}

#[derive(Deserialize)]
struct PersonRow {
    id: Uuid,
    name: String,
    active: bool,
    is_unconfirmed: bool,
    manager: Option<Uuid>,
    /// The roles, each with the time at which it was granted.
    roles: BTreeMap<String, i64>,
    aliases: Vec<Uuid>,
}

#[derive(Deserialize)]
struct AgentRow {
    id: Uuid,
    name: String,
    owner: Uuid,
    is_active: bool,
    capabilities: Value,
    max_tasks: u32,
    standing_order: Option<String>,
    config_version: u32,
}

#[derive(Deserialize)]
struct PolicyRow {
    id: Uuid,
    version: i32,
    document: Value,
}

#[derive(Deserialize)]
struct DelegationRow {
    id: Uuid,
    owner: Uuid,
    delegate_to: Uuid,
    kind: DelegationKind,
    conditions: Value,
    cascade: bool,
    starts_at: i64,
    expires_at: i64,
}

#[derive(Deserialize)]
struct FreezeRow {
    id: Uuid,
    scope: String,
    target: Option<String>,
    reason: String,
    set_by: Uuid,
    ends_at: Option<i64>,
}

fn bound(tenant: TenantId, pages: Pages, base: Base) -> Result<TenantConfig, RowError> {
    let name = pages.name.ok_or_else(|| no_tenant(tenant))?;
    let people = pages.people.0;
    let names = people.iter().map(|row| (UserId::from_uuid(row.id), row.name.clone())).collect();
    let policies = pages.policies.0.into_iter();
    let policies = policies.map(|row| policies::read(row.id, row.version, row.document));
    let timeouts = pages.times.map(|document| settings::read_timeouts(document.0)).transpose()?;
    let risk = pages.risk.map(|document| settings::read(document.0)).transpose()?;
    let thresholds = risk.as_ref().map(|rules| rules.settings().thresholds);
    let tenant = TenantIdentity { id: tenant, name, is_only: !pages.has_several };
    let is_in_setup = pages.is_in_setup.unwrap_or_default();
    let authority =
        AuthorityAge { min: base.authority_age, installation: base.thresholds, is_in_setup };
    let mut config = TenantConfig {
        tenant,
        is_in_setup,
        authority,
        version: pages.version,
        directory: Directory::new(people.into_iter().map(Person::from)),
        names,
        agents: pages.agents.0.into_iter().map(agent).collect::<Result<_, _>>()?,
        policies: Vec::new(),
        delegations: pages.delegations.0.into_iter().map(delegation).collect::<Result<_, _>>()?,
        freezes: pages.freezes.0.into_iter().map(freeze).collect::<Result<_, _>>()?,
        risk,
        thresholds: thresholds.unwrap_or(base.thresholds),
        flags: flags(&pages.flags.0, base.flags)?,
        timeouts: timeouts.unwrap_or_default().over(base.timeouts),
    };
    for policy in policies {
        config.policies.push(config.effective(policy?));
    }
    Ok(config)
}

fn no_tenant(tenant: TenantId) -> RowError {
    let why = "the tenant does not exist".to_owned();
    RowError { table: "tenant", column: "tenant_id", row: tenant.to_string(), why }
}

/// Returns the flags as the tenant has set them, with the defaults of the installation.
fn flags(set: &BTreeMap<String, bool>, base: Switches) -> Result<BTreeSet<Flag>, RowError> {
    let mut on: BTreeSet<Flag> = Flag::ALL.into_iter().filter(|flag| base.is_on(*flag)).collect();
    for (name, is_on) in set {
        let flag = settings::flag(name)?;
        if *is_on {
            on.insert(flag);
        } else {
            on.remove(&flag);
        }
    }
    Ok(on)
}

impl From<PersonRow> for Person {
    fn from(row: PersonRow) -> Self {
        let given = |(role, at): (String, i64)| (Role::new(role), Timestamp::from_micros(at));
        let roles_since: BTreeMap<Role, Timestamp> = row.roles.into_iter().map(given).collect();
        Self {
            id: UserId::from_uuid(row.id),
            roles: roles_since.keys().cloned().collect(),
            roles_since,
            active: row.active,
            manager: row.manager.map(UserId::from_uuid),
            aliases: row.aliases.into_iter().map(UserId::from_uuid).collect(),
            is_unconfirmed: row.is_unconfirmed,
        }
    }
}

fn agent(row: AgentRow) -> Result<(AgentId, AgentEntry), RowError> {
    let id = AgentId::from_uuid(row.id);
    let capabilities: Vec<String> =
        serde_json::from_value(row.capabilities).map_err(|error| RowError {
            table: "agent",
            column: "capabilities",
            row: id.to_string(),
            why: error.to_string(),
        })?;
    let entry = AgentEntry {
        name: row.name,
        owner: UserId::from_uuid(row.owner),
        is_active: row.is_active,
        capabilities: capabilities.iter().filter_map(|text| Pattern::new(text).ok()).collect(),
        max_tasks: row.max_tasks,
        order: agents::order_of(id, row.standing_order.as_deref())?,
        config_version: row.config_version,
    };
    Ok((id, entry))
}

fn delegation(row: DelegationRow) -> Result<Delegation, RowError> {
    let id = DelegationId::from_uuid(row.id);
    let conditions: Conditions =
        serde_json::from_value(row.conditions).map_err(|error| RowError {
            table: "delegation",
            column: "conditions",
            row: id.to_string(),
            why: error.to_string(),
        })?;
    Ok(Delegation {
        id,
        owner: UserId::from_uuid(row.owner),
        delegate_to: UserId::from_uuid(row.delegate_to),
        kind: row.kind,
        conditions,
        cascade: row.cascade,
        starts_at: Timestamp::from_micros(row.starts_at),
        expires_at: Timestamp::from_micros(row.expires_at),
        active: true,
    })
}

/// Parses a freeze. A freeze that cannot be parsed is an error, not an empty freeze.
fn freeze(row: FreezeRow) -> Result<Freeze, RowError> {
    let id = FreezeId::from_uuid(row.id);
    let wrong =
        |why: String| RowError { table: "freeze", column: "target", row: id.to_string(), why };
    let scope = match (row.scope.as_str(), row.target) {
        ("tenant", None) => FreezeExtent::Tenant,
        ("environment", Some(name)) => FreezeExtent::Environment(name),
        ("resources", Some(pattern)) => FreezeExtent::Resources(
            Pattern::new(&pattern).map_err(|error| wrong(error.to_string()))?,
        ),
        (scope, target) => return Err(wrong(format!("{target:?} for the scope {scope}"))),
    };
    Ok(Freeze {
        id,
        scope,
        reason: row.reason,
        set_by: UserId::from_uuid(row.set_by),
        ends_at: row.ends_at.map(Timestamp::from_micros),
    })
}
