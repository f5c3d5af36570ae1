//! The record against real PostgreSQL: what the tables refuse, what a transaction promises, and
//! that what is read back is what was decided.

#[cfg(test)]
mod boot;
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod states;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tenancy;
#[cfg(test)]
mod transaction;
#[cfg(test)]
mod work;
