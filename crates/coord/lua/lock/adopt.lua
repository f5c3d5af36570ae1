#!lua
-- Takes over a hold that this space has lost and because of which PostgreSQL refused a grant.
-- Conflicting grants that were never registered return to their places, or are broken.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 on the hold, as record.lua reads it
-- Reply a status, or stale_epoch, rebuild
-- Time: clock.lua
local refusal = enter()
if refusal then
  return reply(refusal)
end
local id, hold = read_hold(2)
local known = settle(id)
if epoch_of(hold.token) == epoch then
  -- A space that lost a holder has lost its token too: do not mint that token again.
  raise_tokens(counter_of(hold.token))
end
local freed, starts = {}, { hold.owner }
if known and known.state == 'granted' then
  known.registered = true
  known.token = hold.token
  save(id, known)
  return reply(standing(id, known))
elseif known and known.state == 'waiting' then
  take(id, known)
  freed = resources_of(known)
elseif known then
  -- In its lock delay, or over: even a row in PostgreSQL does not revive a tombstone.
  return reply(standing(id, known))
end

-- The youngest grant on a resource that is not registered in PostgreSQL.
local function youngest_unregistered(resource)
  local best_id, best
  each_in(HOLDERS, from_start_of(resource), to_end_of(resource), function(member)
    local other_id = string.sub(member, -ID_LENGTH)
    local other = fetch(other_id)
    if not other.registered and (not best or other.token > best.token) then
      best_id, best = other_id, other
    end
  end)
  return best_id, best
end

local displaced = {}
spread(hold.set)
for i = 1, #hold.set, 2 do
  local resource, mode = hold.set[i], hold.set[i + 1]
  while not fits_beside_holders(resource, mode) do
    local other_id, other = youngest_unregistered(resource)
    if not other then
      break
    end
    take(other_id, other)
    displaced[#displaced + 1] = { id = other_id, record = other }
  end
end
put(id, hold)

-- Only a fenced lease can return to the queue: it has done nothing before its registration. The
-- holder of an advisory lease already acts on it and must learn that the lease is lost.
local function send_back(other_id, r)
  local can_wait = r.delay >= 0 and r.wait > 0
    and call('HEXISTS', BOOK, WAIT_OF .. r.owner) == 0
  r.state = 'broken'
  if r.deadline <= now then
    r.state = 'expired'
  elseif can_wait then
    if not r.place then
      r.place, r.arrival = new_place(r)
      if r.place then
        count_place()
      end
    end
    r.state = r.place and 'waiting' or 'broken'
  end
  if r.state == 'waiting' then
    r.token = nil
    r.deadline = now + r.wait
    hint(r.node, 'displaced', other_id)
  else
    r.deadline = now + TOMBSTONE_TTL
    hint(r.node, r.state, other_id)
  end
  put(other_id, r)
end

for _, other in ipairs(displaced) do
  for _, resource in ipairs(resources_of(other.record)) do
    freed[#freed + 1] = resource
  end
  starts[#starts + 1] = other.record.owner
  send_back(other.id, other.record)
end
promote(freed)
break_deadlocks(starts)
return reply(standing(id, fetch(id)))
