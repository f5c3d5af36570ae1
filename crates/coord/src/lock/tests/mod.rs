//! The scripts against the core's model on a real cluster. Time is virtual: the clock of the
//! scripts is replaced by one that reads it from the space itself, in these tests only.

mod conformance;
mod deadlocks;
mod dice;
mod hints;
mod mutants;
mod oracles;
mod rebuilding;
mod rig;
mod tables;
mod traps;
mod world;
