//! Fault tests: concurrent calls, broken connections, an unavailable audit log, and killed
//! databases and workers. There is one file per kind of fault. The tests run on real servers, and
//! each of them ends by checking the invariants of the whole database. `ADE_ROUNDS=1000` runs every
//! race a thousand times.

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
#[path = "../it/test_server.rs"]
#[expect(dead_code, reason = "the other tests of the server use the rest of it")]
mod test_server;
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
