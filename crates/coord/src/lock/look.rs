//! Locks as they stand, for those who only look: the same records that the commands move, read
//! by scripts that write nothing.

use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::LeaseId;
use ade_core::lock::{Class, Lease, LockSet, Mode, Order, Reply, Request, RequestDraft, Token};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::encode::Word;
use super::{Locks, Space, decode, encode, scripts};
use crate::error::Error;
use crate::reply::Words;
use crate::script::Script;

const ROW: &str = include_str!("../../lua/lock/row.lua");

#[derive(Debug, Clone)]
pub struct Looks {
    locks: Locks,
    scripts: Arc<Scripts>,
}

#[derive(Debug)]
struct Scripts {
    resource: Script,
    leases: Script,
    held: Script,
    waiting: Script,
}

/// One resource. The counts are of all; the leases are the first of them, holders before waiters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub holding: usize,
    pub waiting: usize,
    pub leases: Vec<Lease>,
}

/// A page of what is held, in no order: each resource with how many hold it and how many wait for
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub resources: Vec<(ResourceRef, usize, usize)>,
    pub leases: Vec<Lease>,
    /// Where to go on; nothing at the end.
    pub next: Option<u64>,
}

/// Everybody who waits, and who holds what they wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub has_more: bool,
    pub leases: Vec<Lease>,
}

impl Looks {
    pub fn new(locks: Locks) -> Self {
        let script = |name, text| scripts::looking(name, &[ROW, text]);
        let scripts = Scripts {
            resource: script("look_resource", include_str!("../../lua/lock/look_resource.lua")),
            leases: script("look_leases", include_str!("../../lua/lock/look_leases.lua")),
            held: script("look_held", include_str!("../../lua/lock/look_held.lua")),
            waiting: script("look_waiting", include_str!("../../lua/lock/look_waiting.lua")),
        };
        Self { locks, scripts: Arc::new(scripts) }
    }

    pub async fn resource(
        &self,
        space: Space,
        resource: &ResourceRef,
        most: usize,
    ) -> Result<Reply<Seen>, Error> {
        let words = vec![encode::word(resource), encode::word(&most)];
        self.look(&self.scripts.resource, space, words, |words| {
            let (holding, waiting) = (count(words)?, count(words)?);
            Ok(Seen { holding, waiting, leases: leases(words)? })
        })
        .await
    }

    /// Those that are known, tombstones included.
    pub async fn leases(
        &self,
        space: Space,
        wanted: &[LeaseId],
    ) -> Result<Reply<Vec<Lease>>, Error> {
        let words = wanted.iter().map(|id| encode::word(&encode::lease(*id))).collect();
        self.look(&self.scripts.leases, space, words, leases).await
    }

    pub async fn held(
        &self,
        space: Space,
        after: Option<u64>,
        resources: usize,
        holders: usize,
    ) -> Result<Reply<Held>, Error> {
        let after = after.unwrap_or_default();
        let words = vec![encode::word(&after), encode::word(&resources), encode::word(&holders)];
        self.look(&self.scripts.held, space, words, |words| {
            let next: u64 = words.parsed()?;
            let mut listed = words.words()?;
            let mut resources = Vec::new();
            while !listed.is_empty() {
                let mut one = listed.words()?;
                resources.push((one.parsed()?, count(&mut one)?, count(&mut one)?));
                one.end()?;
            }
            let next = Some(next).filter(|place| *place > 0);
            Ok(Held { resources, leases: leases(words)?, next })
        })
        .await
    }

    pub async fn waiting(&self, space: Space, most: usize) -> Result<Reply<Waiting>, Error> {
        self.look(&self.scripts.waiting, space, vec![encode::word(&most)], |words| {
            Ok(Waiting { has_more: words.number()? > 0, leases: leases(words)? })
        })
        .await
    }

    async fn look<T>(
        &self,
        script: &Script,
        space: Space,
        words: Vec<Word>,
        read: impl FnOnce(&mut Words) -> Result<T, Error>,
    ) -> Result<Reply<T>, Error> {
        let value = self.locks.run(script, space, words).await?;
        decode::reply(script.name(), value, |_, words| read(words))
    }
}

fn count(words: &mut Words) -> Result<usize, Error> {
    let number = words.number()?;
    usize::try_from(number).map_err(|error| words.wrong(error.to_string()))
}

fn leases(words: &mut Words) -> Result<Vec<Lease>, Error> {
    let mut rows = words.words()?;
    let mut leases = Vec::new();
    while !rows.is_empty() {
        leases.push(lease(rows.words()?)?);
    }
    Ok(leases)
}

/// A row as `row.lua` writes it.
fn lease(mut row: Words) -> Result<Lease, Error> {
    let (lease, owner) = (decode::lease(&mut row)?, decode::owner(&mut row)?);
    let node = row.text()?;
    let birth = moment(&mut row)?;
    let class = match row.integer()? {
        -1 => Class::Advisory,
        delay => Class::Fenced { lock_delay: micros(&row, delay)? },
    };
    let [ttl, wait] = [duration(&mut row)?, duration(&mut row)?];
    let boost = u32::try_from(row.number()?).unwrap_or(u32::MAX);
    let state = decode::state(&mut row)?;
    let token = Token::from_number(row.number()?);
    let order = Order::from_numbers(row.number()?, row.number()?);
    let deadline = moment(&mut row)?;
    let held_since = Some(row.integer()?).filter(|since| *since > 0).map(Timestamp::from_micros);
    let registered = row.number()? > 0;
    let mut wanted = Vec::new();
    while !row.is_empty() {
        let resource: ResourceRef = row.parsed()?;
        wanted.push((resource, mode(&mut row)?));
    }
    let set = LockSet::new(wanted).map_err(|error| row.wrong(error.to_string()))?;
    let draft = RequestDraft { lease, owner, node, birth, class, set, ttl, wait, boost };
    let request = Request::new(draft).map_err(|error| row.wrong(error.to_string()))?;
    Ok(Lease { request, state, token, order, deadline, held_since, registered })
}

fn moment(row: &mut Words) -> Result<Timestamp, Error> {
    Ok(Timestamp::from_micros(row.integer()?))
}

fn duration(row: &mut Words) -> Result<Duration, Error> {
    let given = row.integer()?;
    micros(row, given)
}

fn micros(row: &Words, given: i64) -> Result<Duration, Error> {
    u64::try_from(given).map(Duration::from_micros).map_err(|error| row.wrong(error.to_string()))
}

fn mode(row: &mut Words) -> Result<Mode, Error> {
    let word = row.text()?;
    Ok(match word.as_str() {
        "x" => Mode::Exclusive,
        "s" => Mode::Shared,
        counting => {
            let capacity = counting.strip_prefix('c').and_then(|digits| digits.parse().ok());
            let capacity = capacity.ok_or_else(|| row.wrong(format!("`{counting}` is no mode")))?;
            Mode::Counting { capacity }
        }
    })
}
