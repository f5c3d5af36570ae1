//! The filters and orders of a list of tasks, and the statement that each becomes.

use std::time::Duration;

use ade_core::ids::{AgentId, UserId};
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State;
use ade_core::time::Timestamp;
use sqlx::Arguments as _;
use sqlx::postgres::PgArguments;
use uuid::{Builder, Uuid};

use super::rows::word;
use crate::error::StoreError;
use crate::statement::encoded;
use crate::timestamp::PgTimestamp;

/// How far the clock of a process that creates tasks may differ from the one of the database.
const CLOCK_MARGIN: Duration = Duration::from_hours(1);

/// A filter for tasks. All given conditions must hold. Only current revisions count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The states to include; empty means all.
    pub states: Vec<State>,
    pub author: Option<UserId>,
    pub agent: Option<AgentId>,
    pub task_type: Option<String>,
    pub resource: Option<ResourceRef>,
    pub tag: Option<String>,
    pub level: Option<Level>,
    /// Text that the title contains, in any case.
    pub title: Option<String>,
    pub created_from: Option<Timestamp>,
    /// The end of the period, which is not part of it.
    pub created_before: Option<Timestamp>,
    pub order: TaskOrder,
}

/// The order of a list by the time when tasks were created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskOrder {
    #[default]
    NewestFirst,
    OldestFirst,
}

impl TaskOrder {
    /// Writes a statement for the newest first in this order.
    pub(super) fn directed(self, text: &str) -> String {
        match self {
            Self::NewestFirst => text.to_owned(),
            Self::OldestFirst => text.replace("< $2", "> $2").replace("DESC", "ASC"),
        }
    }
}

/// The filter whose index yields the ids, in the order of selectivity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Resource,
    Tag,
    Agent,
    Author,
    Type,
    States,
    Level,
    Nothing,
}

// $1, $2 and $3 of each are the tenant, the last id seen and the number of ids to examine; $4 is
// the value of the leading filter.
const BY_RESOURCE: &str = "
    SELECT n.task_id AS id FROM task_resource n
     WHERE n.tenant_id = $1 AND n.resource = $4 AND n.task_id < $2
     ORDER BY n.task_id DESC LIMIT $3";
const BY_TAG: &str = "
    SELECT n.task_id AS id FROM task_tag n
     WHERE n.tenant_id = $1 AND n.tag = $4 AND n.task_id < $2
     ORDER BY n.task_id DESC LIMIT $3";
const BY_AGENT: &str = "
    SELECT n.id FROM task n WHERE n.tenant_id = $1 AND n.agent_id = $4 AND n.id < $2
     ORDER BY n.id DESC LIMIT $3";
const BY_AUTHOR: &str = "
    SELECT n.id FROM task n WHERE n.tenant_id = $1 AND n.author_id = $4 AND n.id < $2
     ORDER BY n.id DESC LIMIT $3";
const BY_TYPE: &str = "
    SELECT n.task_id AS id FROM task_revision n
     WHERE n.tenant_id = $1 AND n.task_type = $4 AND n.task_id < $2
     ORDER BY n.task_id DESC LIMIT $3";
const BY_STATES: &str = "
    SELECT n.id FROM unnest($4::text[]) AS wanted (state)
     CROSS JOIN LATERAL (
        SELECT t.id FROM task t
         WHERE t.tenant_id = $1 AND t.state = wanted.state AND t.id < $2
         ORDER BY t.id DESC LIMIT $3) AS n
     ORDER BY n.id DESC LIMIT $3";
const BY_LEVEL: &str = "
    SELECT n.task_id AS id FROM task_revision n
     WHERE n.tenant_id = $1 AND n.level = $4 AND n.task_id < $2
     ORDER BY n.task_id DESC LIMIT $3";
const BY_NOTHING: &str = "
    SELECT n.id FROM task n WHERE n.tenant_id = $1 AND n.id < $2 ORDER BY n.id DESC LIMIT $3";

const HAS_RESOURCE: &str = "EXISTS (SELECT FROM task_resource c
     WHERE (c.tenant_id, c.task_id, c.revision) = (t.tenant_id, t.id, t.revision)
       AND c.resource = ";
const HAS_TAG: &str = "EXISTS (SELECT FROM task_tag c
     WHERE (c.tenant_id, c.task_id, c.revision) = (t.tenant_id, t.id, t.revision)
       AND c.tag = ";

impl TaskFilter {
    fn lead(&self) -> Lead {
        let set = [
            (self.resource.is_some(), Lead::Resource),
            (self.tag.is_some(), Lead::Tag),
            (self.agent.is_some(), Lead::Agent),
            (self.author.is_some(), Lead::Author),
            (self.task_type.is_some(), Lead::Type),
            (!self.states.is_empty(), Lead::States),
            (self.level.is_some(), Lead::Level),
        ];
        set.into_iter().find(|(is_set, _)| *is_set).map_or(Lead::Nothing, |(_, lead)| lead)
    }

    /// Returns whether every id that the lead yields belongs to the page.
    pub(super) fn is_lead_alone(&self) -> bool {
        let set = [
            self.resource.is_some(),
            self.tag.is_some(),
            self.agent.is_some(),
            self.author.is_some(),
            self.task_type.is_some(),
            !self.states.is_empty(),
            self.level.is_some(),
            // These have no index, so they never lead.
            self.title.is_some(),
            self.created_from.is_some(),
            self.created_before.is_some(),
        ];
        let is_on_task = match self.lead() {
            Lead::Agent | Lead::Author | Lead::States | Lead::Nothing => true,
            // One of its revisions matches, but maybe not the current one.
            Lead::Resource | Lead::Tag | Lead::Type | Lead::Level => false,
        };
        let allowed = usize::from(self.lead() != Lead::Nothing);
        is_on_task && set.into_iter().filter(|is_set| *is_set).count() <= allowed
    }

    pub(super) fn lead_text(&self, arguments: &mut PgArguments) -> Result<String, StoreError> {
        let text = match self.lead() {
            Lead::Resource => {
                encoded(arguments.add(self.resource.as_ref().map(ToString::to_string)))?;
                BY_RESOURCE
            }
            Lead::Tag => {
                encoded(arguments.add(self.tag.clone()))?;
                BY_TAG
            }
            Lead::Agent => {
                encoded(arguments.add(self.agent.map(AgentId::uuid)))?;
                BY_AGENT
            }
            Lead::Author => {
                encoded(arguments.add(self.author.map(UserId::uuid)))?;
                BY_AUTHOR
            }
            Lead::Type => {
                encoded(arguments.add(self.task_type.clone()))?;
                BY_TYPE
            }
            Lead::States => {
                encoded(arguments.add(self.state_names()))?;
                BY_STATES
            }
            Lead::Level => {
                encoded(arguments.add(self.level.as_ref().map(word).transpose()?))?;
                BY_LEVEL
            }
            Lead::Nothing => BY_NOTHING,
        };
        Ok(self.order.directed(text))
    }

    fn state_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.states.iter().map(|state| state.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Builds the checks of all filters on the current task, because the index of the lead may
    /// refer to an old revision.
    pub(super) fn checks(&self, arguments: &mut PgArguments) -> Result<String, StoreError> {
        let mut text = String::from("true");
        let mut check = |before: &str, after: &str, arguments: &PgArguments| {
            let number = arguments.len().to_string();
            text.extend([" AND ", before, "$", &number, after]);
        };
        if let Some(resource) = &self.resource {
            encoded(arguments.add(resource.to_string()))?;
            check(HAS_RESOURCE, ")", arguments);
        }
        if let Some(tag) = &self.tag {
            encoded(arguments.add(tag.clone()))?;
            check(HAS_TAG, ")", arguments);
        }
        if let Some(agent) = self.agent {
            encoded(arguments.add(agent.uuid()))?;
            check("t.agent_id = ", "", arguments);
        }
        if let Some(author) = self.author {
            encoded(arguments.add(author.uuid()))?;
            check("t.author_id = ", "", arguments);
        }
        if let Some(task_type) = &self.task_type {
            encoded(arguments.add(task_type.clone()))?;
            check("t.task_type = ", "", arguments);
        }
        if !self.states.is_empty() {
            encoded(arguments.add(self.state_names()))?;
            check("t.state = ANY (", "::text[])", arguments);
        }
        if let Some(level) = &self.level {
            encoded(arguments.add(word(level)?))?;
            check("t.level = ", "", arguments);
        }
        if let Some(title) = &self.title {
            encoded(arguments.add(title.clone()))?;
            check("strpos(lower(t.title), lower(", ")) > 0", arguments);
        }
        if let Some(from) = self.created_from {
            encoded(arguments.add(PgTimestamp(from)))?;
            check("t.created_at >= ", "", arguments);
        }
        if let Some(before) = self.created_before {
            encoded(arguments.add(PgTimestamp(before)))?;
            check("t.created_at < ", "", arguments);
        }
        Ok(text)
    }

    /// Returns the id after which the list begins. Ids begin with the time of creation, so tasks
    /// before the period need not be examined.
    pub(super) fn start(&self) -> Uuid {
        match self.order {
            TaskOrder::NewestFirst => self.last_id(),
            TaskOrder::OldestFirst => self.first_id(),
        }
    }

    /// Returns whether no task beyond this one can be in the period.
    pub(super) fn is_past(&self, id: Uuid) -> bool {
        match self.order {
            TaskOrder::NewestFirst => id < self.first_id(),
            TaskOrder::OldestFirst => id > self.last_id(),
        }
    }

    fn first_id(&self) -> Uuid {
        self.created_from.map_or(Uuid::nil(), |from| id_at(from.minus(CLOCK_MARGIN)))
    }

    fn last_id(&self) -> Uuid {
        self.created_before.map_or(Uuid::max(), |end| id_at(end.plus(CLOCK_MARGIN)))
    }
}

/// Returns the smallest id of a task that is created at this time.
fn id_at(time: Timestamp) -> Uuid {
    let millis = u64::try_from(time.micros() / 1_000).unwrap_or_default();
    Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid()
}
