//! The kit against the real servers: what it shares, what it isolates, what it breaks, and that
//! it leaves nothing behind. After a run, `pgrep -fl ade-testkit` shows nothing: the watchdog
//! has the name in its arguments, every server has it in its data directory's path.

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
