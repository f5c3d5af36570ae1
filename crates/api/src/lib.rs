//! The wire types: what a client sends and what it gets, errors included. The server, the SDK
//! and the OpenAPI document share them, so that none can drift. Requests refuse fields they do
//! not know, so that nobody can slip in a state, an author or a risk. Nothing here decides.

pub mod agent_configs;
pub mod agents;
pub mod approvals;
pub mod audit;
pub mod batches;
pub mod code;
pub mod delegations;
pub mod device;
pub mod events;
pub mod executions;
pub mod explain;
pub mod freezes;
pub mod groups;
pub mod inbound;
pub mod locks;
pub mod notifications;
pub mod on_call;
pub mod overrides;
pub mod page;
pub mod passkeys;
pub mod policies;
pub mod problem;
mod refusal;
pub mod resources;
pub mod schema;
pub mod sessions;
pub mod settings;
pub mod stats;
pub mod status;
pub mod tasks;
pub mod tokens;
pub mod users;
pub mod webhooks;
