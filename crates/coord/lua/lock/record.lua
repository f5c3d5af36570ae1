#!lua
-- The record of one lease, and the tables moved with it. A record is taken out of its tables and
-- put into others only here, so holders, queue, deadlines and waiting owners cannot disagree.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of every lock script
-- Time: clock.lua
--
-- requests  lease id → the fields below, packed
-- holders   resource US mode US lease id, so the modes of a resource lie together
-- queue     resource US order US lease id US mode, so a line lies in its order
-- registry  lease id by deadline
-- meta      waits:<owner> → its one waiting lease, holds:<owner> → how many it holds,
--           holding_waiters → how many owners do both
--
-- A mode is `c` and five digits of capacity, `s` or `x`: they sort from the most to the least
-- that may hold together. `delay` is -1 for an advisory lease.
local ID_LENGTH = 32
local ORDER_LENGTH = 32

local function fetch(id)
  local packed = call('HGET', REQUESTS, id)
  if not packed then
    return nil
  end
  local r = {}
  r.state, r.owner, r.node, r.birth, r.delay, r.ttl, r.wait, r.boost, r.set, r.token, r.place,
    r.arrival, r.deadline, r.registered = cmsgpack.unpack(packed)
  return r
end

-- For changes that move nothing between tables.
local function save(id, r)
  call('HSET', REQUESTS, id, cmsgpack.pack(r.state, r.owner, r.node, r.birth, r.delay, r.ttl,
    r.wait, r.boost, r.set, r.token, r.place, r.arrival, r.deadline, r.registered))
  call('ZADD', REGISTRY, r.deadline, id)
end

local function order_text(place, arrival)
  return string.format('%016.0f%016.0f', place, arrival)
end

local function holds(r)
  return r.state == 'granted' or r.state == 'delayed'
end

local function members_in_queue(id, r)
  local middle = US .. order_text(r.place, r.arrival) .. US .. id .. US
  local members = {}
  for i = 1, #r.set, 2 do
    members[#members + 1] = r.set[i] .. middle .. r.set[i + 1]
  end
  return members
end

local function members_in_holders(id, r)
  local members = {}
  for i = 1, #r.set, 2 do
    members[#members + 1] = r.set[i] .. US .. r.set[i + 1] .. US .. id
  end
  return members
end

local function add_members(key, members)
  local scored = {}
  for _, member in ipairs(members) do
    scored[#scored + 1] = 0
    scored[#scored + 1] = member
  end
  call('ZADD', key, unpack(scored))
end

local function put(id, r)
  if r.state == 'waiting' then
    add_members(QUEUE, members_in_queue(id, r))
    call('HSET', META, 'waits:' .. r.owner, id)
    if call('HEXISTS', META, 'holds:' .. r.owner) == 1 then
      call('HINCRBY', META, 'holding_waiters', 1)
    end
  elseif holds(r) then
    add_members(HOLDERS, members_in_holders(id, r))
    local count = call('HINCRBY', META, 'holds:' .. r.owner, 1)
    if count == 1 and call('HEXISTS', META, 'waits:' .. r.owner) == 1 then
      call('HINCRBY', META, 'holding_waiters', 1)
    end
  end
  save(id, r)
end

-- Out of holders or queue; the record itself stays, to be put back in another state.
local function take(id, r)
  if r.state == 'waiting' then
    call('ZREM', QUEUE, unpack(members_in_queue(id, r)))
    call('HDEL', META, 'waits:' .. r.owner)
    if call('HEXISTS', META, 'holds:' .. r.owner) == 1 then
      call('HINCRBY', META, 'holding_waiters', -1)
    end
  elseif holds(r) then
    call('ZREM', HOLDERS, unpack(members_in_holders(id, r)))
    if call('HINCRBY', META, 'holds:' .. r.owner, -1) == 0 then
      call('HDEL', META, 'holds:' .. r.owner)
      if call('HEXISTS', META, 'waits:' .. r.owner) == 1 then
        call('HINCRBY', META, 'holding_waiters', -1)
      end
    end
  end
end

local function forget(id)
  call('HDEL', REQUESTS, id)
  call('ZREM', REGISTRY, id)
end

-- A request as every script is sent it: lease, owner, node, birth, delay, ttl, wait, boost, then
-- how many words the set has, then resource and mode in turn. Also where the next word stands.
local function read_request(at)
  local r = {
    owner = ARGV[at + 1],
    node = ARGV[at + 2],
    birth = tonumber(ARGV[at + 3]),
    delay = tonumber(ARGV[at + 4]),
    ttl = tonumber(ARGV[at + 5]),
    wait = tonumber(ARGV[at + 6]),
    boost = tonumber(ARGV[at + 7]),
    set = {},
  }
  local words = tonumber(ARGV[at + 8])
  for i = 1, words do
    r.set[i] = ARGV[at + 8 + i]
  end
  return ARGV[at], r, at + 9 + words
end

-- The registered hold that follows its request: token and deadline.
local function read_hold(at)
  local id, r, next_at = read_request(at)
  r.state = 'granted'
  r.token = tonumber(ARGV[next_at])
  r.deadline = tonumber(ARGV[next_at + 1])
  r.registered = true
  return id, r, next_at + 2
end
