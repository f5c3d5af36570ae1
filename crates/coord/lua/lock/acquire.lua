#!lua
-- Requests a whole set: it is granted at once, queued, or refused without storing anything or
-- using a number. A repeated lease id is the same request.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 lease id, 3 the request, as record.lua reads it; then, unless it is new:
--      4 waited or held, 5 and 6 its former place and arrival, or its token and 0
-- Reply a status, or busy, queue_full or self_conflict with the resource, already_waiting with the
--       lease, too_many with the resource count of its agent, other_request, unsure with the time
--       at which that ends, stale_epoch, rebuild
-- Time: clock.lua
local refusal = enter()
if refusal then
  return reply(refusal)
end
local id, r = ARGV[2], read_request(ARGV[3])
local is_advisory = r.delay < 0

local function asks_the_same(known)
  local is_same = known.owner == r.owner and #known.set == #r.set
  for i = 1, #r.set do
    is_same = is_same and known.set[i] == r.set[i]
  end
  return is_same
end

local known = settle(id)
if known then
  return reply(asks_the_same(known) and standing(id, known) or { 'other_request' })
end

-- One wait per owner: with two, a grant could close a cycle, not only an enqueue.
local waiting = call('HGET', BOOK, WAIT_OF .. r.owner)
if waiting then
  local other = settle(waiting)
  if other and other.state == 'waiting' then
    return reply({ 'already_waiting', waiting })
  end
end

-- A caller that claims an impossible earlier place is treated as new.
local is_unsure = now < unsure_until
local arrival = ARGV[4] or 'new'
if arrival == 'waited' and epoch_of(tonumber(ARGV[6])) >= epoch then
  arrival = 'new'
elseif arrival == 'held' then
  local is_claim = is_advisory and is_unsure and epoch_of(tonumber(ARGV[5])) < epoch
  arrival = is_claim and 'held' or 'new'
end
if is_advisory and is_unsure and arrival ~= 'held' then
  return reply({ 'unsure', unsure_until })
end

-- Held and awaited resources both count towards the limit, because queues can be filled as well.
local field = taken_field(r.owner, r.node)
local taken = field and tonumber(call('HGET', BOOK, field)) or 0
if field and taken + #r.set / 2 > LOCKS_PER_AGENT_MAX then
  return reply({ 'too_many', taken })
end

-- The place is computed here and counted only when the request is queued, not on a direct grant.
local place, number
if arrival == 'waited' then
  place, number = tonumber(ARGV[5]), tonumber(ARGV[6])
elseif arrival == 'held' then
  -- The lease was held before any current waiter arrived.
  place, number = 0, 0
else
  place, number = new_place(r)
  if not place then
    return reply({ 'rebuild', epoch })
  end
end

spread(r.set)
local blocked = blocked_on(r.set, order_text(place, number), id)
if not blocked then
  r.token = mint()
  if not r.token then
    return reply({ 'rebuild', epoch })
  end
  r.state = 'granted'
  r.request = with_grant(r.request, r.delay)
  r.deadline = now + r.ttl
  put(id, r)
  tell('acquired', id, r.token)
  return reply(standing(id, r))
end

-- Returns the first resource that the owner's own live holds block. Only the owner could end such
-- a wait, and it would be waiting.
local function own_hold_in_the_way()
  if call('HEXISTS', BOOK, HELD_BY .. r.owner) == 0 then
    return
  end
  for i = 1, #r.set, 2 do
    local resource, mode = r.set[i], r.set[i + 1]
    local own = {}
    each_in(HOLDERS, from_start_of(resource), to_end_of(resource), function(member)
      local other = fetch(string.sub(member, -ID_LENGTH))
      if other.owner == r.owner and other.state == 'granted' and other.deadline > now then
        own[#own + 1] = mode_in_holders(resource, member)
      end
    end)
    if not fits_beside(mode, own) then
      return resource
    end
  end
end

local own = own_hold_in_the_way()
if own then
  return reply({ 'self_conflict', own })
end
if r.wait == 0 then
  return reply({ 'busy', blocked })
end
for i = 1, #r.set, 2 do
  local depth = call('ZLEXCOUNT', QUEUE, from_start_of(r.set[i]), to_end_of(r.set[i]))
  if depth >= QUEUE_DEPTH_MAX then
    return reply({ 'queue_full', r.set[i] })
  end
end

if arrival == 'held' then
  -- The front of the queue is used only for the decision; the wait gets a regular place.
  place, number = new_place(r)
  if not place then
    return reply({ 'rebuild', epoch })
  end
end
if epoch_of(number) == epoch then
  count_place()
end
r.state = 'waiting'
r.place, r.arrival = place, number
r.deadline = now + r.wait
put(id, r)
tell('queued', id, position(id, r))
break_deadlocks({ r.owner })
return reply(standing(id, fetch(id)))
