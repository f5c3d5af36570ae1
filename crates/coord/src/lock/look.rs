//! Read access to locks: the same records that the commands change, read by scripts that write
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::LeaseId;
use ade_core::lock::{
    FencingToken, Lease, LeaseClass, LockSet, Mode, Order, Reply, Request, RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::encode::Word;
use super::{LockNamespace, Locks, decode, encode, scripts};
use crate::error::CoordError;
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

/// The state of one resource. The counts cover all leases; the list has the first of them, holders
/// before waiters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub holding: usize,
    pub waiting: usize,
    pub leases: Vec<Lease>,
}

/// A page of used resources in no particular order, each with its numbers of holders and waiters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub resources: Vec<(ResourceRef, usize, usize)>,
    pub leases: Vec<Lease>,
    /// Where to continue; `None` at the end.
    pub next: Option<u64>,
}

/// All waits, and the holders of the awaited resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitGraph {
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
        space: LockNamespace,
        resource: &ResourceRef,
        most: usize,
    ) -> Result<Reply<Seen>, CoordError> {
        let words = vec![encode::word(resource), encode::word(&most)];
        self.look(&self.scripts.resource, space, words, |words| {
            let (holding, waiting) = (count(words)?, count(words)?);
            Ok(Seen { holding, waiting, leases: leases(words)? })
        })
        .await
    }

    /// Returns those of these leases that are known, including tombstones.
    pub async fn leases(
        &self,
        space: LockNamespace,
        wanted: &[LeaseId],
    ) -> Result<Reply<Vec<Lease>>, CoordError> {
        let words = wanted.iter().map(|id| encode::word(&encode::lease(*id))).collect();
        self.look(&self.scripts.leases, space, words, leases).await
    }

    pub async fn held(
        &self,
        space: LockNamespace,
        after: Option<u64>,
        resources: usize,
        holders: usize,
    ) -> Result<Reply<Held>, CoordError> {
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

    pub async fn waiting(
        &self,
        space: LockNamespace,
        most: usize,
    ) -> Result<Reply<WaitGraph>, CoordError> {
        self.look(&self.scripts.waiting, space, vec![encode::word(&most)], |words| {
            Ok(WaitGraph { has_more: words.number()? > 0, leases: leases(words)? })
        })
        .await
    }

    async fn look<T>(
        &self,
        script: &Script,
        space: LockNamespace,
        words: Vec<Word>,
        read: impl FnOnce(&mut Words) -> Result<T, CoordError>,
    ) -> Result<Reply<T>, CoordError> {
        let value = self.locks.run(script, space, words).await?;
        decode::reply(script.name(), value, |_, words| read(words))
    }
}

fn count(words: &mut Words) -> Result<usize, CoordError> {
    let number = words.number()?;
    usize::try_from(number).map_err(|error| words.wrong(error.to_string()))
}

fn leases(words: &mut Words) -> Result<Vec<Lease>, CoordError> {
    let mut rows = words.words()?;
    let mut leases = Vec::new();
    while !rows.is_empty() {
        leases.push(lease(rows.words()?)?);
    }
    Ok(leases)
}

/// Reads a row as `row.lua` writes it.
fn lease(mut row: Words) -> Result<Lease, CoordError> {
    let (lease, owner) = (decode::lease(&mut row)?, decode::owner(&mut row)?);
    let node = row.text()?;
    let birth = moment(&mut row)?;
    let class = match row.integer()? {
        -1 => LeaseClass::Advisory,
        delay => LeaseClass::Fenced { lock_delay: micros(&row, delay)? },
    };
    let [ttl, wait] = [duration(&mut row)?, duration(&mut row)?];
    let boost = u32::try_from(row.number()?).unwrap_or(u32::MAX);
    let state = decode::state(&mut row)?;
    let token = FencingToken::from_number(row.number()?);
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

fn moment(row: &mut Words) -> Result<Timestamp, CoordError> {
    Ok(Timestamp::from_micros(row.integer()?))
}

fn duration(row: &mut Words) -> Result<Duration, CoordError> {
    let given = row.integer()?;
    micros(row, given)
}

fn micros(row: &Words, given: i64) -> Result<Duration, CoordError> {
    u64::try_from(given).map(Duration::from_micros).map_err(|error| row.wrong(error.to_string()))
}

fn mode(row: &mut Words) -> Result<Mode, CoordError> {
    let word = row.text()?;
    Ok(match word.as_str() {
        "x" => Mode::Exclusive,
        "s" => Mode::Shared,
        counting => {
            let capacity = counting.strip_prefix('c').and_then(|digits| digits.parse().ok());
            let capacity =
                capacity.ok_or_else(|| row.wrong(format!("`{counting}` is not a mode")))?;
            Mode::Counting { capacity }
        }
    })
}
