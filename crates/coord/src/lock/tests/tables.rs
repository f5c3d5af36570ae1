//! The complete content of a space, as read from Redis and as the model expects it. Both are
//! compared as a whole, so that every difference is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ade_core::ids::TenantId;
use ade_core::lock::{FencingToken, Lease, LeaseClass, LeasePhase, Order};
use ade_core::time::Timestamp;
use ade_lock_model::Space as Model;
use redis::Value;
use redis::cluster_async::ClusterConnection;

use super::super::{encode, tables};
use crate::error::CoordError;
use crate::reply::Words;

const US: char = '\u{1f}';

/// Members that are never removed are left out, and so are counters: their effect shows in tokens
/// and places.
const READ: &str = "#!lua
local records, used, meta, fields = {}, {}, {}, redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local field, value = fields[i], fields[i + 1]
  local mark = string.sub(field, 1, 1)
  if #field == 26 and not string.find(field, '[^0-9a-z]') then
    local at, state, token, place, arrival, deadline, registered = cmsgpack.unpack_limit(value, 6)
    local owner, node, birth, delay, ttl, wait, boost, set, held_since =
      cmsgpack.unpack(string.sub(value, at + 1))
    records[#records + 1] = { field, state, owner, node, birth, delay, ttl, wait, boost,
      table.concat(set, ' '), token or 0, place or 0, arrival or 0, deadline,
      held_since or 0, registered and 1 or 0 }
  elseif mark == '=' then
    used[#used + 1] = { string.sub(field, 2), value }
  elseif mark == '+' or mark == '?' or mark == '%' or field == 'epoch' or field == 'holding_waiters'
    or field == 'building'
  then
    meta[#meta + 1] = { field, value }
  end
end
local function members(key)
  local found = {}
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if member ~= '' then
      found[#found + 1] = member
    end
  end
  return found
end
local registry = {}
for _, id in ipairs(members(KEYS[4])) do
  registry[#registry + 1] = { id, tonumber(redis.call('ZSCORE', KEYS[4], id)) }
end
if redis.call('EXISTS', unpack(KEYS)) == #KEYS then
  meta[#meta + 1] = { 'is_whole', '1' }
end
return { records, members(KEYS[2]), members(KEYS[3]), registry, meta, used }
";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tables {
    pub records: BTreeMap<String, String>,
    /// The holders in byte order.
    pub holders: Vec<String>,
    pub queue: Vec<String>,
    /// The registry by deadline, then id.
    pub registry: Vec<(String, i64)>,
    pub meta: BTreeMap<String, String>,
    /// Resources that are held or awaited.
    pub used: BTreeSet<String>,
}

impl Tables {
    pub async fn read(
        connection: &mut ClusterConnection,
        tenant: TenantId,
    ) -> Result<Self, CoordError> {
        let keys = tables(tenant);
        let mut command = redis::cmd("EVAL");
        command.arg(READ).arg(keys.len()).arg(&keys);
        let outcome = command.query_async(connection).await;
        let value: Value = outcome.map_err(|error| CoordError::of_call("read", error))?;
        let mut whole = Words::of("read", value)?;
        let mut found = Self::default();
        let mut records = whole.words()?;
        while !records.is_empty() {
            let (id, record) = record(records.words()?)?;
            found.records.insert(id, record);
        }
        found.holders = texts(whole.words()?)?;
        found.queue = texts(whole.words()?)?;
        let mut registry = whole.words()?;
        while !registry.is_empty() {
            let mut entry = registry.words()?;
            found.registry.push((entry.text()?, entry.integer()?));
        }
        let mut meta = whole.words()?;
        while !meta.is_empty() {
            let mut fact = meta.words()?;
            let (name, value) = (fact.text()?, fact.text()?);
            if name != "holding_waiters" || value != "0" {
                found.meta.insert(name, value);
            }
        }
        let mut used = whole.words()?;
        while !used.is_empty() {
            let mut entry = used.words()?;
            let (resource, alone) = (entry.text()?, entry.text()?);
            found.use_of(resource, &alone);
        }
        Ok(found)
    }

    /// A single exclusive holder of a resource is in no other table, and neither is any other user.
    fn use_of(&mut self, resource: String, alone: &str) {
        if !alone.is_empty() {
            let start = format!("{resource}{US}");
            let mut others = self.holders.iter().chain(&self.queue);
            if others.any(|member| member.starts_with(&start)) {
                self.used.insert(format!("{resource} is crowded"));
            }
            self.holders.push(format!("{start}x{US}{alone}"));
            self.holders.sort();
        }
        self.used.insert(resource);
    }

    pub fn of(model: &Model) -> Self {
        let mut expected = Self::default();
        let mut holds: BTreeMap<String, usize> = BTreeMap::new();
        let mut waits: BTreeMap<String, String> = BTreeMap::new();
        for lease in model.leases() {
            let id = encode::lease(lease.request.lease());
            let owner = encode::owner(lease.request.owner());
            expected.records.insert(id.clone(), record_of(lease));
            expected.registry.push((id.clone(), lease.deadline.micros()));
            match lease.state {
                LeasePhase::Waiting => drop(waits.insert(owner, id)),
                LeasePhase::Granted | LeasePhase::Delayed => *holds.entry(owner).or_default() += 1,
                _ => {}
            }
        }
        expected.registry.sort_by(|one, other| (one.1, &one.0).cmp(&(other.1, &other.0)));
        expected.holders = holders(model);
        expected.queue = queue(model);
        if let Some(epoch) = model.epoch() {
            expected.meta.insert("epoch".to_owned(), epoch.to_string());
            // An empty key would look like one that has moved away.
            expected.meta.insert("is_whole".to_owned(), "1".to_owned());
        }
        let both = waits.keys().filter(|owner| holds.contains_key(*owner)).count();
        if both > 0 {
            expected.meta.insert("holding_waiters".to_owned(), both.to_string());
        }
        let held = holds.iter().map(|(owner, n)| (format!("+{owner}"), n.to_string()));
        expected.meta.extend(held);
        expected.meta.extend(waits.iter().map(|(owner, id)| (format!("?{owner}"), id.clone())));
        let agents = model.leases().filter_map(|lease| lease.request.agent());
        let taken = agents.map(|agent| (agent, model.taken_by(agent))).filter(|(_, n)| *n > 0);
        let taken = taken.map(|(agent, n)| (format!("%{agent}"), n.to_string()));
        expected.meta.extend(taken);
        let live = model.leases().filter(|lease| !lease.state.is_over());
        let used = live.flat_map(|lease| lease.request.set().resources());
        expected.used = used.map(ToString::to_string).collect();
        expected
    }
}

fn holders(model: &Model) -> Vec<String> {
    let leases =
        model.leases().filter(|l| matches!(l.state, LeasePhase::Granted | LeasePhase::Delayed));
    let mut members: Vec<String> = leases
        .flat_map(|lease| lease.request.set().resources())
        .flat_map(|resource| {
            let member = |(id, mode)| {
                format!("{resource}{US}{}{US}{}", encode::mode(mode), encode::lease(id))
            };
            model.holders(resource).map(member).collect::<Vec<_>>()
        })
        .collect();
    members.sort();
    members.dedup();
    members
}

/// Every queue in the order of the model, the queues by name.
fn queue(model: &Model) -> Vec<String> {
    let waits = model.leases().filter(|lease| lease.state == LeasePhase::Waiting);
    let lines: BTreeMap<String, Vec<String>> = waits
        .flat_map(|lease| lease.request.set().resources())
        .map(|resource| {
            let member = |(id, mode)| {
                let order = model.lease(id).unwrap().order.unwrap();
                let (place, arrival, mode) = (order.place(), order.arrival(), encode::mode(mode));
                let id = encode::lease(id);
                format!("{resource}{US}{place:016}{arrival:016}{US}{id}{US}{mode}")
            };
            (format!("{resource}{US}"), model.queue(resource).map(member).collect())
        })
        .collect();
    lines.into_values().flatten().collect()
}

fn texts(mut words: Words) -> Result<Vec<String>, CoordError> {
    let mut texts = Vec::new();
    while !words.is_empty() {
        texts.push(words.text()?);
    }
    Ok(texts)
}

fn record(mut words: Words) -> Result<(String, String), CoordError> {
    let id = words.text()?;
    let mut fields = vec![words.text()?, words.text()?, words.text()?];
    for _ in 0..5 {
        fields.push(words.integer()?.to_string());
    }
    fields.push(words.text()?);
    for _ in 0..6 {
        fields.push(words.integer()?.to_string());
    }
    words.end()?;
    Ok((id, fields.join(" ")))
}

fn record_of(lease: &Lease) -> String {
    let mut words = vec![
        match lease.state {
            LeasePhase::Waiting => "w",
            LeasePhase::Granted => "g",
            LeasePhase::Delayed => "d",
            LeasePhase::Released => "r",
            LeasePhase::Expired => "e",
            LeasePhase::Broken => "b",
            LeasePhase::TimedOut => "t",
            LeasePhase::Victim => "v",
        }
        .to_owned(),
    ];
    let request = &lease.request;
    let micros = |duration: Duration| duration.as_micros().to_string();
    let delay = match request.class() {
        LeaseClass::Fenced { lock_delay } => micros(lock_delay),
        LeaseClass::Advisory => "-1".to_owned(),
    };
    words.extend([encode::owner(request.owner()), request.node().to_owned()]);
    words.extend([request.birth().micros().to_string(), delay]);
    words.extend([micros(request.ttl()), micros(request.wait()), request.boost().to_string()]);
    for (resource, mode) in request.set().iter() {
        words.extend([resource.to_string(), encode::mode(mode)]);
    }
    let number = |number: Option<u64>| number.unwrap_or_default().to_string();
    words.push(number(lease.token.map(FencingToken::number)));
    words.push(number(lease.order.map(Order::place)));
    words.push(number(lease.order.map(Order::arrival)));
    words.push(lease.deadline.micros().to_string());
    words.push(lease.held_since.map_or(0, Timestamp::micros).to_string());
    words.push(u8::from(lease.registered).to_string());
    words.join(" ")
}
