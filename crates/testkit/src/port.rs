//! Free loopback ports below the range of outgoing connections, so that between the check and the
//! bind only another test run can take one; the code that starts a server then tries again. The
//! choice is random, so two runs that start together seldom collide.

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use crate::failure::Failure;

/// A cluster node listens on its port and on this offset above it.
pub const BUS_OFFSET: u16 = 10_000;
const REDIS_PORTS: Range<u16> = 15_000..22_700;
const POSTGRES_PORTS: Range<u16> = 22_800..25_000;
const TRIES: usize = 200;

// No port and no bus port is in another range or in the range of outgoing connections.
const _: () = assert!(REDIS_PORTS.end <= POSTGRES_PORTS.start);
const _: () = assert!(POSTGRES_PORTS.end <= REDIS_PORTS.start + BUS_OFFSET);
const _: () = assert!(REDIS_PORTS.end + BUS_OFFSET <= 32_768);

pub fn free_redis_port() -> Result<u16, Failure> {
    free_port(&REDIS_PORTS, |port| is_free(port) && is_free(port + BUS_OFFSET))
}

pub fn free_postgres_port() -> Result<u16, Failure> {
    free_port(&POSTGRES_PORTS, is_free)
}

fn free_port(range: &Range<u16>, is_good: impl Fn(u16) -> bool) -> Result<u16, Failure> {
    for _ in 0..TRIES {
        let [high, low, ..] = random_bytes()?;
        let width = range.end - range.start;
        let port = range.start + u16::from_be_bytes([high, low]) % width;
        if is_good(port) {
            return Ok(port);
        }
    }
    let what = format!("find a free port in {}..{}", range.start, range.end);
    Err(Failure::new(what, format!("{TRIES} tries were all taken")))
}

pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Returns random bytes of the system, because tests of one run are separate processes and must not
/// make the same choices.
pub(crate) fn random_bytes() -> Result<[u8; 16], Failure> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Failure::new("read /dev/urandom", error))?;
    Ok(bytes)
}

pub(crate) fn random_u128() -> Result<u128, Failure> {
    random_bytes().map(u128::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_in_use_is_not_chosen() {
        let taken = free_postgres_port().unwrap();
        let held = TcpListener::bind((Ipv4Addr::LOCALHOST, taken)).unwrap();
        assert!(!is_free(taken));
        assert!(free_port(&(taken..taken + 1), is_free).is_err());
        drop(held);
        assert_eq!(free_port(&(taken..taken + 1), is_free), Ok(taken));
    }

    #[test]
    fn port_for_redis_with_a_busy_bus_port_is_not_free() {
        let port = free_redis_port().unwrap();
        let _bus = TcpListener::bind((Ipv4Addr::LOCALHOST, port + BUS_OFFSET)).unwrap();
        let is_good = |port| is_free(port) && is_free(port + BUS_OFFSET);
        assert!(free_port(&(port..port + 1), is_good).is_err());
    }
}
