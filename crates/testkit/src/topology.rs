//! The view that one node of a Redis Cluster has of the whole: the masters, their slots and their
//! replicas. It is parsed from `CLUSTER NODES`, which all Redis and Valkey versions have.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::failure::Failure;

pub const SLOTS: u16 = 16_384;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: String,
    pub port: u16,
    /// The id of the replicated node; `None` for a master.
    pub master: Option<String>,
    /// The node is failing, in the view of this node or of all, or the handshake is not finished.
    pub is_unsure: bool,
    pub is_linked: bool,
    pub slots: Vec<RangeInclusive<u16>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    pub members: Vec<Member>,
}

impl Topology {
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let parse = |line: &str| {
            Member::parse(line)
                .ok_or_else(|| Failure::new("read CLUSTER NODES", format!("`{line}`")))
        };
        let members = text.lines().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { members })
    }

    pub fn master_of(&self, slot: u16) -> Option<&Member> {
        let owns = |member: &&Member| member.slots.iter().any(|range| range.contains(&slot));
        self.members.iter().find(owns)
    }

    pub fn replicas_of(&self, slot: u16) -> Vec<&Member> {
        let Some(master) = self.master_of(slot) else {
            return Vec::new();
        };
        let copies = |member: &&Member| member.master.as_deref() == Some(master.id.as_str());
        self.members.iter().filter(copies).collect()
    }

    pub(crate) fn member_at(&self, port: u16) -> Option<&Member> {
        self.members.iter().find(|member| member.port == port)
    }

    /// Maps the first slot of each range to the port of its master, as clients do.
    pub(crate) fn owners(&self) -> BTreeMap<u16, u16> {
        let of = |member: &Member| {
            let port = member.port;
            let starts: Vec<_> = member.slots.iter().map(|range| (*range.start(), port)).collect();
            starts
        };
        self.members.iter().flat_map(of).collect()
    }

    pub(crate) fn covered_slots(&self) -> usize {
        let sure = self.members.iter().filter(|member| !member.is_unsure);
        sure.flat_map(|member| &member.slots).map(ExactSizeIterator::len).sum()
    }
}

impl Member {
    /// Parses `id ip:port@bus[,name] flags master ping pong epoch link slot…`.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let id = fields.next()?.to_owned();
        let (_, port) = fields.next()?.split_once('@')?.0.rsplit_once(':')?;
        let flags: Vec<&str> = fields.next()?.split(',').collect();
        let master = Some(fields.next()?).filter(|master| *master != "-");
        let bus = fields.nth(3)?;
        Some(Self {
            id,
            port: port.parse().ok()?,
            master: master.map(str::to_owned),
            is_unsure: flags
                .iter()
                .any(|flag| matches!(*flag, "fail" | "fail?" | "handshake" | "noaddr")),
            is_linked: bus == "connected" || flags.contains(&"myself"),
            // Slots that are being moved are in brackets; they still belong to the node that lists
            // them.
            slots: fields
                .filter(|field| !field.starts_with('['))
                .map(parse_slots)
                .collect::<Option<_>>()?,
        })
    }
}

fn parse_slots(field: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = field.split_once('-').unwrap_or((field, field));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
aa 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460 9000 [93->-bb]
bb 127.0.0.1:7001@17001,host master,fail - 0 1 2 disconnected 5461-8999
cc 127.0.0.1:7002@17002 slave aa 0 1 1 connected
dd 127.0.0.1:7003@17003 slave,fail? bb 0 1 2 connected
ee :0@0 handshake - 0 0 0 connected
";

    #[test]
    fn topology_view_lists_masters_replicas_and_suspects() {
        let topology = Topology::parse(TEXT).unwrap();
        let master = |slot| topology.master_of(slot).map(|member| member.port);
        assert_eq!(master(0), Some(7000));
        assert_eq!(master(9000), Some(7000));
        assert_eq!(master(5461), Some(7001));
        assert_eq!(master(9001), None);
        let replicas = |slot| {
            let found = topology.replicas_of(slot);
            found.iter().map(|member| member.port).collect::<Vec<_>>()
        };
        assert_eq!(replicas(1), [7002]);
        assert_eq!(replicas(6000), [7003]);
        assert!(replicas(9001).is_empty());
        let unsure: Vec<_> = topology.members.iter().map(|member| member.is_unsure).collect();
        assert_eq!(unsure, [false, true, false, true, true]);
        let linked: Vec<_> = topology.members.iter().map(|member| member.is_linked).collect();
        assert_eq!(linked, [true, false, true, true, true]);
        assert_eq!(topology.covered_slots(), 5462, "a failed master covers nothing");
        assert_eq!(topology.owners(), [(0, 7000), (9000, 7000), (5461, 7001)].into());
        assert_eq!(topology.member_at(7003).map(|member| member.id.as_str()), Some("dd"));
    }

    #[test]
    fn topology_line_that_is_not_a_node_is_reported() {
        let failure = Topology::parse("ERR unknown").unwrap_err();
        assert!(failure.to_string().contains("ERR unknown"), "{failure}");
    }
}
