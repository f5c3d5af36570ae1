//! What a space holds, word for word: read from Redis, and as the model says it must be. Both
//! are compared whole, so nothing can drift unseen.

use std::collections::BTreeMap;

use ade_core::ids::TenantId;
use ade_core::lock::{Lease, Order, Space as Model, State, Token};
use redis::Value;
use redis::cluster_async::ClusterConnection;

use super::super::{encode, tables};
use crate::error::Error;
use crate::reply::Words;

const US: char = '\u{1f}';

/// Members that are never removed are not shown, counters neither: what they do shows in the
/// tokens and places that are handed out.
const READ: &str = "#!lua
local records, fields = {}, redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
  if fields[i] ~= '' then
    local state, owner, node, birth, delay, ttl, wait, boost, set, token, place, arrival,
      deadline, registered = cmsgpack.unpack(fields[i + 1])
    records[#records + 1] = { fields[i], state, owner, node, birth, delay, ttl, wait, boost,
      table.concat(set, ' '), token or 0, place or 0, arrival or 0, deadline,
      registered and 1 or 0 }
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
for _, id in ipairs(members(KEYS[5])) do
  registry[#registry + 1] = { id, tonumber(redis.call('ZSCORE', KEYS[5], id)) }
end
local meta, facts = {}, redis.call('HGETALL', KEYS[1])
for i = 1, #facts, 2 do
  if string.find(facts[i], ':') or facts[i] == 'epoch' or facts[i] == 'holding_waiters' then
    meta[#meta + 1] = { facts[i], facts[i + 1] }
  end
end
if redis.call('EXISTS', unpack(KEYS)) == #KEYS then
  meta[#meta + 1] = { 'is_whole', '1' }
end
return { records, members(KEYS[3]), members(KEYS[4]), registry, meta }
";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tables {
    pub records: BTreeMap<String, String>,
    /// In the order of bytes.
    pub holders: Vec<String>,
    pub queue: Vec<String>,
    /// By deadline, then id.
    pub registry: Vec<(String, i64)>,
    pub meta: BTreeMap<String, String>,
}

impl Tables {
    pub async fn read(connection: &mut ClusterConnection, tenant: TenantId) -> Result<Self, Error> {
        let keys = tables(tenant);
        let mut command = redis::cmd("EVAL");
        command.arg(READ).arg(keys.len()).arg(&keys);
        let outcome = command.query_async(connection).await;
        let value: Value = outcome.map_err(|error| Error::of_call("read", error))?;
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
        Ok(found)
    }

    pub fn of(model: &Model) -> Self {
        let mut expected = Self::default();
        let mut holds: BTreeMap<String, usize> = BTreeMap::new();
        let mut waits: BTreeMap<String, String> = BTreeMap::new();
        for lease in model.leases() {
            let id = lease.request.lease().to_string();
            let owner = lease.request.owner().to_string();
            expected.records.insert(id.clone(), told(lease));
            expected.registry.push((id.clone(), lease.deadline.micros()));
            match lease.state {
                State::Waiting => drop(waits.insert(owner, id)),
                State::Granted | State::Delayed => *holds.entry(owner).or_default() += 1,
                _ => {}
            }
        }
        expected.registry.sort_by(|one, other| (one.1, &one.0).cmp(&(other.1, &other.0)));
        expected.holders = holders(model);
        expected.queue = queue(model);
        if let Some(epoch) = model.epoch() {
            expected.meta.insert("epoch".to_owned(), epoch.to_string());
            // A key that is empty would look like one that has moved away.
            expected.meta.insert("is_whole".to_owned(), "1".to_owned());
        }
        let both = waits.keys().filter(|owner| holds.contains_key(*owner)).count();
        if both > 0 {
            expected.meta.insert("holding_waiters".to_owned(), both.to_string());
        }
        let held = holds.iter().map(|(owner, n)| (format!("holds:{owner}"), n.to_string()));
        expected.meta.extend(held);
        expected
            .meta
            .extend(waits.iter().map(|(owner, id)| (format!("waits:{owner}"), id.clone())));
        expected
    }
}

fn holders(model: &Model) -> Vec<String> {
    let leases = model.leases().filter(|l| matches!(l.state, State::Granted | State::Delayed));
    let mut members: Vec<String> = leases
        .flat_map(|lease| lease.request.set().resources())
        .flat_map(|resource| {
            let member = |(id, mode)| format!("{resource}{US}{}{US}{id}", encode::mode(mode));
            model.holders(resource).map(member).collect::<Vec<_>>()
        })
        .collect();
    members.sort();
    members.dedup();
    members
}

/// Every line in the order in which the model has it, the lines by their names.
fn queue(model: &Model) -> Vec<String> {
    let waits = model.leases().filter(|lease| lease.state == State::Waiting);
    let lines: BTreeMap<String, Vec<String>> = waits
        .flat_map(|lease| lease.request.set().resources())
        .map(|resource| {
            let member = |(id, mode)| {
                let order = model.lease(id).unwrap().order.unwrap();
                let (place, arrival, mode) = (order.place(), order.arrival(), encode::mode(mode));
                format!("{resource}{US}{place:016}{arrival:016}{US}{id}{US}{mode}")
            };
            (format!("{resource}{US}"), model.queue(resource).map(member).collect())
        })
        .collect();
    lines.into_values().flatten().collect()
}

fn texts(mut words: Words) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    while !words.is_empty() {
        texts.push(words.text()?);
    }
    Ok(texts)
}

fn record(mut words: Words) -> Result<(String, String), Error> {
    let id = words.text()?;
    let mut told = vec![words.text()?, words.text()?, words.text()?];
    for _ in 0..5 {
        told.push(words.integer()?.to_string());
    }
    told.push(words.text()?);
    for _ in 0..5 {
        told.push(words.integer()?.to_string());
    }
    words.end()?;
    Ok((id, told.join(" ")))
}

fn told(lease: &Lease) -> String {
    let mut words = vec![
        match lease.state {
            State::Waiting => "waiting",
            State::Granted => "granted",
            State::Delayed => "delayed",
            State::Released => "released",
            State::Expired => "expired",
            State::Broken => "broken",
            State::TimedOut => "timed_out",
            State::Victim => "victim",
        }
        .to_owned(),
    ];
    let mut sent = encode::request(&lease.request).into_iter().skip(1);
    words.extend(sent.by_ref().take(7));
    // How many words follow is not kept.
    words.extend(sent.skip(1));
    let number = |number: Option<u64>| number.unwrap_or_default().to_string();
    words.push(number(lease.token.map(Token::number)));
    words.push(number(lease.order.map(Order::place)));
    words.push(number(lease.order.map(Order::arrival)));
    words.push(lease.deadline.micros().to_string());
    words.push(u8::from(lease.registered).to_string());
    words.join(" ")
}
