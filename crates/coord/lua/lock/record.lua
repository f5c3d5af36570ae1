#!lua
-- The record of one lease, and the tables moved with it. A record is taken out of its tables and
-- put into others only here, so holders, queue, deadlines and waiting owners cannot disagree.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of every lock script
-- Time: clock.lua
--
-- A mode is `c` and five digits of capacity, `s` or `x`: they sort from the most to the least
-- that may hold together. `delay` is -1 for an advisory lease.
local ID_LENGTH = 26
local ORDER_LENGTH = 32

-- A request as scripts receive it, and as it is stored after the changing part of its record:
-- owner, node, birth, delay, ttl, wait, boost, and resource and mode in turn. A granted advisory
-- lease is followed by its grant time.
local function read_request(request)
  local r = { request = request }
  r.owner, r.node, r.birth, r.delay, r.ttl, r.wait, r.boost, r.set, r.held_since =
    cmsgpack.unpack(request)
  return r
end

-- A registered hold as scripts receive it: lease, token, deadline, request.
local function read_hold(at)
  local r = read_request(ARGV[at + 3])
  r.state, r.registered = 'granted', true
  r.token, r.deadline = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  return ARGV[at], r
end

-- A record stores the first letter of its state.
local STATES = { g = 'granted', w = 'waiting', d = 'delayed', r = 'released', e = 'expired',
  b = 'broken', t = 'timed_out', v = 'victim' }

local function fetch(id)
  local packed = call('HGET', BOOK, id)
  if not packed then
    return nil
  end
  local at, state, token, place, arrival, deadline, registered =
    cmsgpack.unpack_limit(packed, 6)
  local r = read_request(string.sub(packed, at + 1))
  r.state, r.token, r.place, r.arrival = STATES[state], token, place, arrival
  r.deadline, r.registered = deadline, registered
  return r
end

-- Writes a record whose changes do not affect the other tables.
local function save(id, r)
  call('HSET', BOOK, id, cmsgpack.pack(string.sub(r.state, 1, 1), r.token, r.place, r.arrival,
    r.deadline, r.registered) .. r.request)
  call('ZADD', REGISTRY, digits(r.deadline), id)
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
    scored[#scored + 1] = '0'
    scored[#scored + 1] = member
  end
  call('ZADD', key, unpack(scored))
end

local function users_of(set)
  local fields = {}
  for i = 1, #set, 2 do
    fields[#fields + 1] = USERS_OF .. set[i]
  end
  return fields
end

local function from_start_of(resource)
  return '[' .. resource .. US
end

local function to_end_of(resource)
  return '(' .. resource .. AFTER_US
end

-- Moves exclusive single holders of these resources into the common tables. This runs before a set
-- is judged or removed, because only the fast paths read the single-holder entries.
local function spread(set)
  for at, alone in ipairs(call('HMGET', BOOK, unpack(users_of(set)))) do
    if alone and alone ~= '' then
      local resource = set[2 * at - 1]
      call('ZADD', HOLDERS, '0', resource .. US .. 'x' .. US .. alone)
      call('HSET', BOOK, USERS_OF .. resource, '')
    end
  end
end

local function mark_used(set)
  local marks = {}
  for _, field in ipairs(users_of(set)) do
    marks[#marks + 1] = field
    marks[#marks + 1] = ''
  end
  call('HSET', BOOK, unpack(marks))
end

local function unmark_unused(set)
  for i = 1, #set, 2 do
    local from, to = from_start_of(set[i]), to_end_of(set[i])
    if not call('ZRANGEBYLEX', QUEUE, from, to, 'LIMIT', '0', '1')[1]
      and not call('ZRANGEBYLEX', HOLDERS, from, to, 'LIMIT', '0', '1')[1]
    then
      call('HDEL', BOOK, USERS_OF .. set[i])
    end
  end
end

-- Updates the resource count of an agent when a lease enters or leaves the tables.
local function count_taken(r, sign)
  local field = taken_field(r.owner, r.node)
  if field and call('HINCRBY', BOOK, field, digits(sign * #r.set / 2)) <= 0 then
    call('HDEL', BOOK, field)
  end
end

local function put(id, r)
  if r.state == 'waiting' then
    add_members(QUEUE, members_in_queue(id, r))
    mark_used(r.set)
    count_taken(r, 1)
    call('HSET', BOOK, WAIT_OF .. r.owner, id)
    if call('HEXISTS', BOOK, HELD_BY .. r.owner) == 1 then
      call('HINCRBY', BOOK, 'holding_waiters', 1)
    end
  elseif holds(r) then
    add_members(HOLDERS, members_in_holders(id, r))
    mark_used(r.set)
    count_taken(r, 1)
    local count = call('HINCRBY', BOOK, HELD_BY .. r.owner, 1)
    if count == 1 and call('HEXISTS', BOOK, WAIT_OF .. r.owner) == 1 then
      call('HINCRBY', BOOK, 'holding_waiters', 1)
    end
  end
  save(id, r)
end

-- Removes a lease from holders or queue; the record itself stays, to be stored in another state.
local function take(id, r)
  if r.state == 'waiting' then
    call('ZREM', QUEUE, unpack(members_in_queue(id, r)))
    unmark_unused(r.set)
    count_taken(r, -1)
    call('HDEL', BOOK, WAIT_OF .. r.owner)
    if call('HEXISTS', BOOK, HELD_BY .. r.owner) == 1 then
      call('HINCRBY', BOOK, 'holding_waiters', -1)
    end
  elseif holds(r) then
    spread(r.set)
    call('ZREM', HOLDERS, unpack(members_in_holders(id, r)))
    unmark_unused(r.set)
    count_taken(r, -1)
    if call('HINCRBY', BOOK, HELD_BY .. r.owner, -1) == 0 then
      call('HDEL', BOOK, HELD_BY .. r.owner)
      if call('HEXISTS', BOOK, WAIT_OF .. r.owner) == 1 then
        call('HINCRBY', BOOK, 'holding_waiters', -1)
      end
    end
  end
end

local function forget(id)
  call('HDEL', BOOK, id)
  call('ZREM', REGISTRY, id)
end
