//! What approvals rest on, read from the tables: an oracle that shares no code with the comparison
//! of rules in the product.

use std::collections::BTreeSet;

use ade_core::ids::UserId;
use serde_json::Value;

use crate::world::World;

/// Whatever of this exists makes approvals possible or easier: a role of an active person, the
/// address of another person with a role, someone else's seat, a capability, a role of a group, or
/// a flag.
const GRANTS: &str = "
    SELECT concat_ws(' ', 'role', user_id, role) AS fact
      FROM user_role JOIN app_user ON id = user_id WHERE active
    UNION SELECT concat_ws(' ', 'address', id, email)
      FROM app_user WHERE id IN (SELECT user_id FROM user_role) AND id <> '{admin}'
    UNION SELECT concat_ws(' ', 'delegation', owner_id, delegate_to)
      FROM delegation WHERE owner_id <> '{admin}'
    UNION SELECT concat_ws(' ', 'capability', id, capability)
      FROM agent, jsonb_array_elements_text(capabilities) AS capability
    UNION SELECT concat_ws(' ', 'group', group_name, role) FROM group_role
    UNION SELECT concat_ws(' ', 'flag', name) FROM feature_flag WHERE enabled";

/// Whatever of this is gone makes approvals easier: two accounts that count as one person, the
/// passkey of a person, and the settings as they are.
const GUARDS: &str = "
    SELECT concat_ws(' ', 'alias', user_id, alias_id) AS fact FROM user_alias
    UNION SELECT concat_ws(' ', 'passkey', user_id, id) FROM passkey WHERE removed_at IS NULL
    UNION SELECT concat_ws(' ', 'policy', name, enabled, current_version) FROM policy
    UNION SELECT concat_ws(' ', 'risk settings', count(*)) FROM risk_setting
    UNION SELECT concat_ws(' ', 'timeouts', count(*)) FROM time_setting
    UNION SELECT concat_ws(' ', 'resource', name, criticality) FROM resource
    UNION SELECT concat_ws(' ', 'resources', count(*)) FROM resource";

/// What the approvals of all tenants rest on.
#[derive(Debug)]
pub struct ApprovalRules {
    grants: BTreeSet<String>,
    guards: BTreeSet<String>,
}

impl ApprovalRules {
    pub async fn read(world: &World) -> Self {
        let admin = world.admin.id.parse::<UserId>().unwrap().uuid().to_string();
        let read = async |facts: &str| {
            let facts = facts.replace("{admin}", &admin);
            let sql =
                format!("SELECT coalesce(json_agg(fact), '[]')::text FROM ({facts}) AS facts");
            let text = world.database.text(&sql).await;
            let facts: Vec<Value> = serde_json::from_str(&text).unwrap();
            facts.iter().map(|fact| fact.as_str().unwrap().to_owned()).collect()
        };
        Self { grants: read(GRANTS).await, guards: read(GUARDS).await }
    }

    /// Returns what makes approvals easier now than under the earlier rules.
    pub fn easier_than(&self, earlier: &Self) -> Vec<String> {
        let gained = self.grants.difference(&earlier.grants);
        let lost = earlier.guards.difference(&self.guards);
        gained.map(|fact| format!("+ {fact}")).chain(lost.map(|fact| format!("- {fact}"))).collect()
    }
}
