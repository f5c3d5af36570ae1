//! Addresses as an attacker writes them, in every spelling, and valid ones.

use std::collections::BTreeSet;

use super::*;

const LOOPBACK: &[&str] = &["127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "0.0.0.0"];
const PRIVATE: &[&str] = &[
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.0.1",
    "192.168.255.1",
    "100.64.0.1",
    "100.127.255.254",
    "198.18.0.1",
    "192.0.0.1",
    "192.52.193.1",
    "192.175.48.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
];
/// The addresses of cloud metadata services.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "169.254.169.253",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
];

/// Returns one IPv4 address in every spelling that some parser accepts.
fn spellings(address: &str) -> Vec<String> {
    let octets: Vec<u32> = address.split('.').map(|part| part.parse().unwrap()).collect();
    let number = octets.iter().fold(0_u32, |sum, octet| sum * 256 + octet);
    let [a, b, c, d] = [octets[0], octets[1], octets[2], octets[3]];
    let (low, word) = (number & 0x00ff_ffff, number & 0xffff);
    let [high, last] = [number >> 16, number & 0xffff];
    vec![
        address.to_owned(),
        format!("{number}"),
        format!("{number:#x}"),
        format!("0{number:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a}.{low}"),
        format!("{a}.{b}.{word}"),
        format!("{a:#x}.{b}.0{c:o}.{d}"),
        format!("{address}."),
        // Embedded in IPv6: mapped, compatible, translated, tunnelled.
        format!("[::ffff:{address}]"),
        format!("[::ffff:{high:x}:{last:x}]"),
        format!("[::{address}]"),
        format!("[64:ff9b::{address}]"),
        format!("[64:ff9b:1::{address}]"),
        format!("[2002:{high:x}:{last:x}::1]"),
        format!("[2001:0:{high:x}:{last:x}::1]"),
        format!("[0:0:0:0:0:ffff:{high:x}:{last:x}]"),
        // Digits and dots of other scripts, and percent-encoding, are normalized to the same
        // address.
        address.replace('.', "\u{3002}"),
        address.replace('1', "\u{ff11}"),
        address.replace('2', "%32"),
    ]
}

const OTHER_HOSTS: &[&str] = &[
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fd00::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[100::1]",
    "[5f00::1]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "localhost.localdomain",
    "metadata",
    "metadata.google.internal",
    "metadata.google.internal.",
    "instance-data",
    "instance-data.ec2.internal",
    "kubernetes",
    "kubernetes.default.svc.cluster.local",
    "redis",
    "postgres",
    "printer.local",
    "wiki.corp",
    "router.lan",
    "1.0.0.127.in-addr.arpa",
    "hidden.onion",
    "example.com.",
];

#[test]
fn address_closed_in_any_spelling_is_refused() {
    let addresses = [LOOPBACK, PRIVATE, METADATA].concat();
    let literal = addresses.iter().flat_map(|address| spellings(address));
    let hosts: BTreeSet<String> =
        literal.chain(OTHER_HOSTS.iter().map(|host| (*host).to_owned())).collect();
    assert!(hosts.len() >= 200, "{} hosts", hosts.len());
    let ports = Ports::Only(vec![443, 8443]);
    for host in &hosts {
        for url in [format!("https://{host}/hook"), format!("https://{host}:8443/?a=b#c")] {
            for ports in [&ports, &Ports::Any] {
                let refused = checked(&url, AddressPolicy::Open, ports);
                let is_refused = matches!(
                    refused,
                    Err(AddressError::Closed { .. } | AddressError::NotAnAddress { .. })
                );
                assert!(is_refused, "{url}: {refused:?}");
            }
        }
    }
}

#[test]
fn address_that_hides_the_host_is_refused() {
    let only = Ports::Only(vec![443]);
    let judged = |url: &str| checked(url, AddressPolicy::Open, &only);
    for url in [
        "https://good.example.com@127.0.0.1/",
        "https://user:password@good.example.com/",
        "https://127.0.0.1:80@good.example.com/",
        "https://:password@good.example.com/",
        "https://good.example.com%40evil@10.0.0.1/",
    ] {
        assert!(matches!(judged(url), Err(AddressError::Credentials { .. })), "{url}");
    }
    for url in [
        "http://good.example.com/",
        "ftp://good.example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "dict://127.0.0.1:11211/stat",
        "ws://good.example.com/",
        "data:text/plain,x",
        "javascript:alert(1)",
        "unix:/var/run/docker.sock",
        "jar:https://good.example.com!/",
        "ldap://127.0.0.1/",
        "netdoc:///etc/passwd",
    ] {
        assert!(matches!(judged(url), Err(AddressError::Plain { .. })), "{url}");
    }
    for url in [
        "",
        "good.example.com",
        "//good.example.com/",
        "https://",
        "https:///",
        "https://[::1",
        "https://[::1]x/",
        "https://1.2.3.4.5/",
        "https://256.256.256.256/",
        "https://0x100000000/",
        "https://good.example.com:99999/",
        "https://good example.com/",
        "https://good.example.com/\r\nHost: evil",
        "https://good.example.com\t/",
        " https://good.example.com/",
        "https://good.example.com/\u{0}",
        "https://exa<mple>.com/",
        "https://%00.example.com/",
        "https://[fe80::1%25eth0]/",
        "https://[::127.0.0.256]/",
    ] {
        let refused = judged(url);
        assert!(matches!(refused, Err(AddressError::NotAnAddress { .. })), "{url:?}: {refused:?}");
    }
    for port in [0, 22, 25, 80, 2375, 3306, 5432, 6379, 8080, 9200, 11211, 65535] {
        let refused = judged(&format!("https://good.example.com:{port}/"));
        assert!(matches!(refused, Err(AddressError::Port { .. })), "{port}: {refused:?}");
    }
}

#[test]
fn address_with_a_backslash_keeps_its_host() {
    // The URL parser, which the client uses as well, reads it as a slash.
    let url =
        checked("https://good.example.com\\@127.0.0.1/", AddressPolicy::Open, &Ports::Any).unwrap();
    assert_eq!(url.host_str(), Some("good.example.com"));
}

#[test]
fn address_in_the_open_network_is_accepted() {
    let only = Ports::Only(vec![443, 8443]);
    for url in [
        "https://hooks.example.com/ade?token=x",
        "https://hooks.example.com:8443/",
        "https://8.8.8.8/",
        "https://[2606:4700:4700::1111]/",
        "https://münchen.example/",
        "HTTPS://HOOKS.EXAMPLE.COM/",
    ] {
        assert!(checked(url, AddressPolicy::Open, &only).is_ok(), "{url}");
    }
}

#[test]
fn address_in_development_mode_must_be_loopback() {
    let only = Ports::Only(Vec::new());
    for url in ["http://127.0.0.1:9000/", "https://[::1]:9/", "http://localhost:1/"] {
        assert!(checked(url, AddressPolicy::Loopback, &only).is_ok(), "{url}");
    }
    for url in ["http://8.8.8.8/", "http://10.0.0.1/", "http://169.254.169.254/"] {
        let refused = checked(url, AddressPolicy::Loopback, &only);
        assert!(matches!(refused, Err(AddressError::Closed { .. })), "{url}");
    }
}
