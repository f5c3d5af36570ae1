//! What happens when calls meet, connections break, the audit takes nothing, PostgreSQL dies or a
//! worker does: one file per family, on real servers, each followed by the invariants of the
//! whole database. `ADE_ROUNDS=1000` runs every race a thousand times.

#[cfg(test)]
mod applies;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod listeners;
#[cfg(test)]
mod meetings;
#[cfg(test)]
mod read_models;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod restarts;
#[cfg(test)]
mod revocations;
#[cfg(test)]
#[path = "../it/rig.rs"]
#[expect(dead_code, reason = "the other tests of the server use the rest of it")]
mod rig;
#[cfg(test)]
mod votes;
#[cfg(test)]
mod without_redis;
#[cfg(test)]
mod workers;
#[cfg(test)]
#[path = "../it/world.rs"]
#[expect(dead_code, reason = "the other tests of the server use the rest of it")]
mod world;
