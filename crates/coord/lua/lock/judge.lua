#!lua
-- Decides whether a place in the queue can be granted. Holders and earlier waiters count alike, so
-- no waiter overtakes an earlier one that it would delay.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of every lock script
-- Time: none

local function kind_of(mode)
  return string.sub(mode, 1, 1)
end

local function capacity_of(mode)
  return tonumber(string.sub(mode, 2))
end

local function mode_in_holders(resource, member)
  return string.sub(member, #resource + 2, -ID_LENGTH - 2)
end

local function mode_in_queue(resource, member)
  return string.sub(member, #resource + ORDER_LENGTH + ID_LENGTH + 4)
end

local function id_in_queue(resource, member)
  local from = #resource + ORDER_LENGTH + 3
  return string.sub(member, from, from + ID_LENGTH - 1)
end

-- The end of a range over a queue: all waiters before this place.
local function to_place(resource, order, id)
  return '(' .. resource .. US .. order .. US .. id
end

-- Returns whether one more holder fits next to these. If capacities differ, the lowest applies.
local function fits_beside(mode, others)
  local kind = kind_of(mode)
  local room = kind == 'c' and capacity_of(mode) or math.huge
  for _, other in ipairs(others) do
    if kind == 'x' or kind_of(other) ~= kind then
      return false
    end
    if kind == 'c' then
      room = math.min(room, capacity_of(other))
    end
  end
  return #others < room
end

-- Returns whether one more holder fits next to all holders. Modes are sorted, so the first and the
-- last show whether they are all of one kind, and the first has the lowest capacity. Also returns
-- the number of holders and the lowest capacity among them, for judging earlier waiters.
local function fits_beside_holders(resource, mode)
  local kind = kind_of(mode)
  local from, to = from_start_of(resource), to_end_of(resource)
  local room = kind == 'c' and capacity_of(mode) or math.huge
  local first = call('ZRANGEBYLEX', HOLDERS, from, to, 'LIMIT', '0', '1')[1]
  if not first then
    return true, 0, room
  end
  if kind == 'x' then
    return false
  end
  local last = call('ZREVRANGEBYLEX', HOLDERS, to, from, 'LIMIT', '0', '1')[1]
  local least, most = mode_in_holders(resource, first), mode_in_holders(resource, last)
  if kind_of(least) ~= kind or kind_of(most) ~= kind then
    return false
  end
  if kind == 's' then
    return true, 0, room
  end
  local count = call('ZLEXCOUNT', HOLDERS, from, to)
  room = math.min(room, capacity_of(least))
  return count < room, count, room
end

local function fits(resource, mode, order, id)
  local is_free, count, room = fits_beside_holders(resource, mode)
  if not is_free then
    return false
  end
  local kind = kind_of(mode)
  each_in(QUEUE, from_start_of(resource), to_place(resource, order, id), function(member)
    local other = mode_in_queue(resource, member)
    if kind == 'x' or kind_of(other) ~= kind then
      is_free = false
    elseif kind == 'c' then
      count = count + 1
      room = math.min(room, capacity_of(other))
      is_free = count < room
    end
    return not is_free
  end)
  return is_free
end

-- The first resource on which a set would have to wait at this place, or nil.
local function blocked_on(set, order, id)
  for i = 1, #set, 2 do
    if not fits(set[i], set[i + 1], order, id) then
      return set[i]
    end
  end
end

-- One more than the number of waiters ahead in the longest of its queues.
local function position(id, r)
  local order = order_text(r.place, r.arrival)
  local longest = 0
  for i = 1, #r.set, 2 do
    local to = to_place(r.set[i], order, id)
    local ahead = call('ZLEXCOUNT', QUEUE, from_start_of(r.set[i]), to)
    longest = math.max(longest, ahead)
  end
  return longest + 1
end

-- The status of a lease, as every command returns it to the owner.
local function standing(id, r)
  if not r then
    return { 'unknown' }
  end
  if r.state == 'granted' then
    return { 'granted', r.token, r.deadline }
  end
  if r.state == 'waiting' then
    return { 'waiting', position(id, r), r.place, r.arrival, r.deadline }
  end
  if r.state == 'delayed' then
    return { 'delayed', r.deadline }
  end
  return { 'over', r.state }
end
