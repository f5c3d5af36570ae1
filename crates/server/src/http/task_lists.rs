//! The list of tasks: its filters, its order and its pages.

use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::actor::Actor;
use ade_core::ids::{AgentId, UserId};
use ade_core::limits::TASK_SEARCH_MAX_CHARS;
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State as TaskState;
use ade_core::time::Timestamp;
use ade_engine::Caller;
use ade_engine::tasks::{self, TaskFilter, TaskOrder};
use axum::extract::State;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::Query;
use super::reply::{Listing, page, span};
use super::state::Shared;

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// Only tasks in this state; can be repeated.
    #[serde(default, deserialize_with = "states")]
    #[param(value_type = Vec<schema::State>, required = false)]
    pub state: Vec<TaskState>,
    #[param(value_type = Option<schema::UserId>)]
    pub author_id: Option<UserId>,
    #[param(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    /// Only tasks that the caller proposed: a person also through their agents, an agent itself.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    pub mine: bool,
    #[serde(rename = "type")]
    #[param(rename = "type")]
    pub task_type: Option<String>,
    #[param(value_type = Option<schema::ResourceName>)]
    pub resource: Option<ResourceRef>,
    pub tag: Option<String>,
    #[serde(default, deserialize_with = "ade_api::risk_level::optional")]
    #[param(value_type = Option<schema::Level>)]
    pub level: Option<Level>,
    /// Only tasks whose title contains this text, in any case.
    #[param(min_length = 1, max_length = 200)]
    pub q: Option<String>,
    /// Only tasks that were created at this time or later.
    #[param(value_type = Option<schema::Timestamp>)]
    pub created_from: Option<Timestamp>,
    /// Only tasks that were created before this time.
    #[param(value_type = Option<schema::Timestamp>)]
    pub created_before: Option<Timestamp>,
    #[serde(default)]
    #[param(inline)]
    pub sort: TaskSort,
    /// The maximum number of items. A page can have fewer items although more follow, if few tasks
    /// match.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// Reads states in any case.
fn states<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<TaskState>, D::Error> {
    let find = |text: &String| {
        let mut all = TaskState::ALL.into_iter();
        let found = all.find(|state| state.as_str().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let names = TaskState::ALL.map(TaskState::as_str).join(", ");
            D::Error::custom(format!("`{text}` is not a state: use one of {names}"))
        })
    };
    Vec::<String>::deserialize(from)?.iter().map(find).collect()
}

/// The order of tasks by the time when they were created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskSort {
    #[default]
    Newest,
    Oldest,
}

/// List tasks, newest first
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, description = "A page", body = Page<TaskSummary>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(mut query): Query<TaskQuery>,
) -> Result<Listing<TaskSummary>, ApiError> {
    let wanted =
        PageQuery { page_size: query.page_size.take(), page_token: query.page_token.take() };
    let span = span(&wanted, &caller, &query)?;
    let paged = tasks::list(shared.app(), &caller, filter(&query, &caller)?, span).await?;
    Ok(page(paged, &caller, &query))
}

fn filter(query: &TaskQuery, caller: &Caller) -> Result<TaskFilter, ApiError> {
    let text = query.q.as_deref().map(str::trim);
    if text.is_some_and(|text| text.is_empty() || text.chars().count() > TASK_SEARCH_MAX_CHARS) {
        let why = format!("`q` must have 1 to {TASK_SEARCH_MAX_CHARS} characters");
        return Err(ApiError::query(&why));
    }
    let mut filter = TaskFilter {
        states: query.state.clone(),
        author: query.author_id,
        agent: query.agent_id,
        task_type: query.task_type.clone(),
        resource: query.resource.clone(),
        tag: query.tag.clone(),
        level: query.level,
        title: text.map(str::to_owned),
        created_from: query.created_from,
        created_before: query.created_before,
        order: match query.sort {
            TaskSort::Newest => TaskOrder::NewestFirst,
            TaskSort::Oldest => TaskOrder::OldestFirst,
        },
    };
    if query.mine {
        if query.author_id.is_some() || query.agent_id.is_some() {
            let why = "give either `mine` or `author_id` and `agent_id`";
            return Err(ApiError::query(why));
        }
        match caller.actor {
            Actor::User { id, .. } => filter.author = Some(id),
            Actor::Agent { id, .. } => filter.agent = Some(id),
            Actor::System { .. } => {}
        }
    }
    Ok(filter)
}
