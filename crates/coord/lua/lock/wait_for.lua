#!lua
-- Deadlock detection on the wait-for graph of owners. It runs where edges are added, so there are
-- no phantom cycles, and no cycle outlives the call that closed it. Counting resources are left
-- out: a wait for any one of many slots is not an edge to each of their holders.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of the scripts that add edges
-- Time: clock.lua

-- A lock delay and leases that are due end automatically, so they do not count as live.
local function is_live(r)
  return (r.state == 'granted' or r.state == 'waiting') and r.deadline > now
end

-- The first mode of the holders that conflict with a waiter of this kind: writers wait for both.
local FIRST_CONFLICT = { x = 's', s = 'x' }

-- Calls `visit` with the owner of every live holder that blocks a wait.
local function each_holder_ahead(r, visit)
  for i = 1, #r.set, 2 do
    local resource = r.set[i]
    local first = FIRST_CONFLICT[kind_of(r.set[i + 1])]
    if first then
      each_in(HOLDERS, from_start_of(resource) .. first, to_end_of(resource), function(member)
        local other = fetch(string.sub(member, -ID_LENGTH))
        if is_live(other) then
          visit(other.owner)
        end
      end)
    end
  end
end

-- Calls `visit` with the live earlier waiters that block, up to the nearest blocking writer: the
-- waiters before it are reached through that writer. A long queue costs only its last few entries.
local function each_waiter_ahead(id, r, visit)
  local order = order_text(r.place, r.arrival)
  for i = 1, #r.set, 2 do
    local resource, kind = r.set[i], kind_of(r.set[i + 1])
    local from, to = from_start_of(resource), to_place(resource, order, id)
    local is_open = FIRST_CONFLICT[kind] ~= nil
    while is_open do
      local page = call('ZREVRANGEBYLEX', QUEUE, to, from, 'LIMIT', '0', PAGE)
      is_open = #page == PAGE
      for _, member in ipairs(page) do
        to = '(' .. member
        local other_kind = mode_in_queue(resource, member)
        if other_kind == 'x' or (other_kind == 's' and kind == 'x') then
          local other = fetch(id_in_queue(resource, member))
          if is_live(other) then
            visit(other.owner)
            if other_kind == 'x' then
              is_open = false
              break
            end
          end
        end
      end
    end
  end
end

-- The part of the graph that is reached from `starts`: next owners of each, and its wait.
local function explore(starts)
  local edges, waits = {}, {}
  local open = { unpack(starts) }
  while #open > 0 do
    local owner = table.remove(open)
    if not edges[owner] then
      local nexts, seen = {}, {}
      edges[owner] = nexts
      local id = call('HGET', BOOK, WAIT_OF .. owner)
      local r = id and fetch(id)
      if r and is_live(r) then
        waits[owner] = { id = id, record = r }
        local function visit(next_owner)
          if not seen[next_owner] then
            seen[next_owner] = true
            nexts[#nexts + 1] = next_owner
            open[#open + 1] = next_owner
          end
        end
        each_holder_ahead(r, visit)
        each_waiter_ahead(id, r, visit)
      end
    end
  end
  return edges, waits
end

-- Tarjan's search: every owner that lies on a cycle.
local function owners_on_cycles(edges)
  local number, low, stack, is_stacked, count, found = {}, {}, {}, {}, 0, {}
  local function visit(owner)
    count = count + 1
    number[owner], low[owner] = count, count
    stack[#stack + 1] = owner
    is_stacked[owner] = true
    local waits_for_itself = false
    for _, next_owner in ipairs(edges[owner]) do
      if next_owner == owner then
        waits_for_itself = true
      elseif not number[next_owner] then
        visit(next_owner)
        low[owner] = math.min(low[owner], low[next_owner])
      elseif is_stacked[next_owner] then
        low[owner] = math.min(low[owner], number[next_owner])
      end
    end
    if low[owner] == number[owner] then
      local is_alone = stack[#stack] == owner
      repeat
        local member = table.remove(stack)
        is_stacked[member] = false
        if not is_alone or waits_for_itself then
          found[#found + 1] = member
        end
      until member == owner
    end
  end
  for owner in pairs(edges) do
    if not number[owner] then
      visit(owner)
    end
  end
  return found
end

-- The wait of the youngest owner on a cycle: latest birth, then highest lease id.
local function youngest(owners, waits)
  local best
  for _, owner in ipairs(owners) do
    local wait = waits[owner]
    local birth = wait.record.birth
    if not best or birth > best.birth or (birth == best.birth and wait.id > best.id) then
      best = { owner = owner, id = wait.id, birth = birth }
    end
  end
  return best
end

local function waits_behind(wait, other)
  local mine, theirs = wait.record, other.record
  local is_earlier = theirs.place < mine.place
    or (theirs.place == mine.place and theirs.arrival < mine.arrival)
    or (theirs.place == mine.place and theirs.arrival == mine.arrival and other.id < wait.id)
  if not is_earlier then
    return false
  end
  local modes = {}
  for i = 1, #theirs.set, 2 do
    modes[theirs.set[i]] = kind_of(theirs.set[i + 1])
  end
  for i = 1, #mine.set, 2 do
    local kind, other_kind = kind_of(mine.set[i + 1]), modes[mine.set[i]]
    local is_counted = kind == 'c' or other_kind == 'c'
    if other_kind and not is_counted and (kind == 'x' or other_kind == 'x') then
      return true
    end
  end
  return false
end

-- The owners on cycles that an owner waits for directly, in the order of their names.
local function direct(owner, stuck, waits)
  local is_ahead, nexts = {}, {}
  each_holder_ahead(waits[owner].record, function(holder)
    is_ahead[holder] = true
  end)
  for _, other in ipairs(stuck) do
    if is_ahead[other] or waits_behind(waits[owner], waits[other]) then
      nexts[#nexts + 1] = other
    end
  end
  table.sort(nexts)
  return nexts
end

-- The cycle from the victim on: each waits for the next, and the last for the victim. The search is
-- breadth first, so the first way back is a shortest one.
local function shortest_cycle(start, stuck, waits)
  local came_from, open, at = {}, { start }, 1
  while open[at] do
    local owner = open[at]
    at = at + 1
    for _, next_owner in ipairs(direct(owner, stuck, waits)) do
      if next_owner == start then
        local cycle = { waits[owner].id }
        while owner ~= start do
          owner = came_from[owner]
          table.insert(cycle, 1, waits[owner].id)
        end
        return cycle
      end
      if not came_from[next_owner] then
        came_from[next_owner] = owner
        open[#open + 1] = next_owner
      end
    end
  end
end

-- Ends waits until no cycle is left. New edges touch the owners in `starts`, and before them
-- there was no cycle, so every cycle is reached from there. A cycle needs an owner that both holds
-- and waits, because places decrease along edges between waiters.
local function break_deadlocks(starts)
  while tonumber(call('HGET', BOOK, 'holding_waiters') or 0) > 0 do
    local edges, waits = explore(starts)
    local stuck = owners_on_cycles(edges)
    local victim = youngest(stuck, waits)
    if not victim then
      return
    end
    local r = waits[victim.owner].record
    hint(r.node, 'deadlock', victim.id, unpack(shortest_cycle(victim.owner, stuck, waits)))
    finish(victim.id, r, 'victim')
  end
end
