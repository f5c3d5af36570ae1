//! The wire types: requests, responses and errors. The server, the SDK and the OpenAPI document
//! share them, so that they cannot drift apart. Requests refuse unknown fields, so that a client
//! cannot set a state, an author or a risk. Nothing here makes decisions.

pub mod affected_rows;
pub mod agent_configs;
pub mod agents;
pub mod approvals;
pub mod audit;
pub mod batches;
pub mod cause;
pub mod claims;
pub mod code;
pub mod delegations;
pub mod device;
pub mod event_consumers;
pub mod events;
pub mod executions;
pub mod explain;
pub mod freezes;
pub mod inbound;
pub mod invitations;
pub mod locks;
pub mod notifications;
pub mod on_call;
pub mod overrides;
pub mod page;
pub mod passkeys;
pub mod pending_changes;
pub mod policies;
pub mod problem;
mod refusal;
pub mod resource_input;
pub mod resources;
pub mod risk_level;
pub mod schema;
pub mod seconds;
pub mod sessions;
pub mod settings;
pub mod stats;
pub mod status;
pub mod tasks;
pub mod tokens;
pub mod users;
pub mod webhooks;
