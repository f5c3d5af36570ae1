//! Integration tests of `ade` against a real server and PostgreSQL, in a pipe and on a terminal.

#[cfg(test)]
mod apply;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod decide;
#[cfg(test)]
mod device;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod hook;
#[cfg(test)]
mod hook_failures;
#[cfg(test)]
mod installation;
#[cfg(test)]
mod keyring;
#[cfg(test)]
mod live;
#[cfg(test)]
mod locks;
#[cfg(test)]
mod login;
#[cfg(test)]
mod look;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod nouns;
#[cfg(test)]
mod run;
#[cfg(test)]
mod run_failures;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod spoofing;
#[cfg(test)]
mod swapped;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod terminal;
