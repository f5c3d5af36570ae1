//! Tests of the server over real sockets. They are one binary with one file per subject.

#[cfg(test)]
mod agent_configs;
#[cfg(test)]
mod agent_directives;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod applying;
#[cfg(test)]
mod approval_rules;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod archive;
#[cfg(test)]
mod authenticator;
#[cfg(test)]
mod authority;
#[cfg(test)]
mod batches;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod break_glass;
#[cfg(test)]
mod claiming;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod deadlines;
#[cfg(test)]
mod degradations;
#[cfg(test)]
mod delegations;
#[cfg(test)]
mod description;
#[cfg(test)]
mod device;
#[cfg(test)]
mod doors;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod event_consumers;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod executions;
#[cfg(test)]
mod executors;
#[cfg(test)]
mod explaining;
#[cfg(test)]
mod export;
#[cfg(test)]
mod failover;
#[cfg(test)]
mod failure_table;
#[cfg(test)]
mod features;
#[cfg(test)]
mod flooding;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod hoarding;
#[cfg(test)]
mod inbound;
#[cfg(test)]
mod installation;
#[cfg(test)]
mod invitations;
#[cfg(test)]
mod leavers;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod live;
#[cfg(test)]
mod lock_bounds;
#[cfg(test)]
mod locks;
#[cfg(test)]
mod locks_waiting;
#[cfg(test)]
mod logins;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod lone_admin;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_failures;
#[cfg(test)]
mod mcp_hosts;
#[cfg(test)]
mod mcp_tasks;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod naming;
#[cfg(test)]
mod noisy_tenant;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod organisations;
#[cfg(test)]
mod passkeys;
#[cfg(test)]
mod plain_errors;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod policy_test;
#[cfg(test)]
mod preview_proof;
#[cfg(test)]
mod preview_targets;
#[cfg(test)]
mod previews;
#[cfg(test)]
mod program;
#[cfg(test)]
mod proposals;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod rates;
#[cfg(test)]
mod read_models;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod replica;
#[cfg(test)]
mod risk;
#[cfg(test)]
mod role_age;
#[cfg(test)]
mod rule_changes;
#[cfg(test)]
mod runner;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod signing_in;
#[cfg(test)]
mod stats;
#[cfg(test)]
mod step_up;
#[cfg(test)]
mod story;
#[cfg(test)]
mod system;
#[cfg(test)]
mod takeover;
#[cfg(test)]
mod task_lists;
#[cfg(test)]
mod task_numbers;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tenant_bindings;
#[cfg(test)]
mod tenant_calls;
#[cfg(test)]
mod tenant_matrix;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod timeouts;
#[cfg(test)]
mod timing;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod topics;
#[cfg(test)]
mod users;
#[cfg(test)]
mod waiting;
#[cfg(test)]
mod webhook_deliveries;
#[cfg(test)]
mod webhooks;
#[cfg(test)]
mod withdrawn_permits;
#[cfg(test)]
mod world;
