//! Which addresses the server calls on behalf of others: only those of the open network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressPolicy {
    /// Addresses of the open network, over TLS.
    Open,
    /// This machine only, for development; TLS is optional.
    Loopback,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(a: u16, b: u16, c: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

/// The IANA special-purpose registry, and the address at which the virtual machines of Azure reach
/// their host. Other metadata services are link-local.
const CLOSED_V4: [Ipv4Net; 19] = [
    v4(0, 0, 0, 0, 8),
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10),
    v4(127, 0, 0, 0, 8),
    v4(168, 63, 129, 16, 32),
    v4(169, 254, 0, 0, 16),
    v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    v4(192, 31, 196, 0, 24),
    v4(192, 52, 193, 0, 24),
    v4(192, 88, 99, 0, 24),
    v4(192, 168, 0, 0, 16),
    v4(192, 175, 48, 0, 24),
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    v4(224, 0, 0, 0, 4),
    v4(240, 0, 0, 0, 4),
];

/// Closed networks within the allocated space.
const CLOSED_V6: [Ipv6Net; 4] =
    [v6(0x2001, 0, 0, 23), v6(0x2001, 0x0db8, 0, 32), v6(0x2002, 0, 0, 16), v6(0x3fff, 0, 0, 20)];
/// The space allocated to the open network; everything outside of it is special.
const OPEN_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

pub fn is_reachable(address: IpAddr, reach: AddressPolicy) -> bool {
    // An IPv4-mapped address is the same address.
    let address = address.to_canonical();
    match (reach, address) {
        (AddressPolicy::Loopback, address) => address.is_loopback(),
        (AddressPolicy::Open, IpAddr::V4(address)) => {
            !CLOSED_V4.iter().any(|network| network.contains(&address))
        }
        (AddressPolicy::Open, IpAddr::V6(address)) => {
            OPEN_V6.contains(&address)
                && !CLOSED_V6.iter().any(|network| network.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: &[&str] = &[
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.0.192",
        "192.0.2.1",
        "192.31.196.1",
        "192.52.193.0",
        "192.52.193.255",
        "192.88.99.1",
        "192.168.0.1",
        "192.168.255.255",
        "192.175.48.0",
        "192.175.48.255",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "100.100.100.200",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:10.0.0.1",
        "::ffff:192.168.1.1",
        "::ffff:168.63.129.16",
        "::7f00:1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2001:1ff::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2002:c0a8:1::1",
        "3fff::1",
        "3fff:fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00::1",
        "fd00:ec2::254",
        "fdff::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff00::1",
        "ff02::1",
        "ff05::2",
        "ffff::1",
    ];
    const OPEN: &[&str] = &[
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "192.0.1.1",
        "192.52.192.255",
        "192.52.194.0",
        "192.167.255.255",
        "192.169.0.1",
        "192.175.47.255",
        "192.175.49.0",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "::ffff:8.8.8.8",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2606:4700:4700::1111",
        "2a00:1450::1",
        "3ffe::1",
    ];

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn reach_open_excludes_closed_networks() {
        for text in CLOSED {
            assert!(!is_reachable(address(text), AddressPolicy::Open), "{text}");
        }
        for text in OPEN {
            assert!(is_reachable(address(text), AddressPolicy::Open), "{text}");
        }
    }

    #[test]
    fn reach_loopback_excludes_all_other_networks() {
        for text in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            assert!(is_reachable(address(text), AddressPolicy::Loopback), "{text}");
        }
        let others = CLOSED.iter().chain(OPEN).map(|text| address(text));
        for other in others.filter(|other| !other.to_canonical().is_loopback()) {
            assert!(!is_reachable(other, AddressPolicy::Loopback), "{other}");
        }
    }
}
