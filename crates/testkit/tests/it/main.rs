//! Tests of the kit with real servers: what it shares, isolates and breaks, and that it leaves
//! nothing behind. After a run `pgrep -fl ade-testkit` shows nothing: the watchdog has the name in
//! its arguments, and every server in the path of its data directory.

#[cfg(test)]
mod child;
#[cfg(test)]
mod database;
#[cfg(test)]
mod process_end;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod proxy_faults;
#[cfg(test)]
mod redis_cluster;
