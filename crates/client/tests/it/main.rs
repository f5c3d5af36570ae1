//! Integration tests of the client against a scripted server.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod streams;
