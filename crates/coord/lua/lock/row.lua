#!lua
-- The form of a record for read-only callers: the words of its request, then its state.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of the scripts that read
-- Time: none

local function row(id, r)
  local words = {
    id, r.owner, r.node, r.birth, r.delay, r.ttl, r.wait, r.boost, r.state, r.token or 0,
    r.place or 0, r.arrival or 0, r.deadline, r.held_since or 0, r.registered and 1 or 0,
  }
  for i = 1, #r.set do
    words[#words + 1] = r.set[i]
  end
  return words
end

-- Lists each lease once, however many of its resources were visited.
local function add_row(rows, seen, id)
  local r = not seen[id] and fetch(id)
  if r then
    seen[id] = true
    rows[#rows + 1] = row(id, r)
  end
end

-- The first holders of a resource, and their number.
local function holders_of(resource, most)
  local alone = call('HGET', BOOK, USERS_OF .. resource)
  if alone and alone ~= '' then
    return { alone }, 1
  end
  local from, to, ids = from_start_of(resource), to_end_of(resource), {}
  for _, member in ipairs(call('ZRANGEBYLEX', HOLDERS, from, to, 'LIMIT', 0, most)) do
    ids[#ids + 1] = string.sub(member, -ID_LENGTH)
  end
  return ids, call('ZLEXCOUNT', HOLDERS, from, to)
end

local function waiting_for(resource)
  return call('ZLEXCOUNT', QUEUE, from_start_of(resource), to_end_of(resource))
end
