//! Tests of the store on a real PostgreSQL: what the tables refuse, what transactions guarantee,
//! and that data round-trips.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod boot;
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod decisions;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod growth_beside;
#[cfg(test)]
mod humans;
#[cfg(test)]
mod installation;
#[cfg(test)]
mod locks;
#[cfg(test)]
mod locks_fence;
#[cfg(test)]
mod locks_of_agent;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod preview;
#[cfg(test)]
mod preview_escapes;
#[cfg(test)]
mod preview_guard;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod rulebook;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod shares;
#[cfg(test)]
mod silence;
#[cfg(test)]
mod states;
#[cfg(test)]
mod step_ups;
#[cfg(test)]
mod tallies;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tenancy;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod test_database;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod transaction;
#[cfg(test)]
mod users;
#[cfg(test)]
mod wire;
#[cfg(test)]
mod work;
#[cfg(test)]
mod workers;
