//! The client against a server that fails on command.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod streams;
