#!lua
-- Ends a lease and grants every waiter that became grantable. No grantable waiter keeps waiting.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of every lock script
-- Time: clock.lua

-- A tombstone against late duplicates; the freed resources still have to be promoted.
local function bury(id, r, state)
  take(id, r)
  r.state = state
  r.deadline = now + TOMBSTONE_TTL
  put(id, r)
end

-- A waiter may have died since its last heartbeat, so it only gets a short claim; its first renewal
-- turns the claim into the full lease.
local function grant_claim(id, r)
  local token = mint()
  if not token then
    return
  end
  take(id, r)
  r.state = 'granted'
  r.token = token
  r.request = with_grant(r.request, r.delay)
  r.deadline = now + math.min(r.ttl, CLAIM_TTL)
  put(id, r)
  hint(r.node, 'promoted', id, token)
end

local function resources_of(r)
  local resources = {}
  for i = 1, #r.set, 2 do
    resources[#resources + 1] = r.set[i]
  end
  return resources
end

-- Walks the queues in `open`, first to last. An expired waiter is dropped and never granted; it
-- leaves all its queues, so those are walked too. Behind a waiter that needs this very resource, or
-- behind a writer, no waiter is grantable, so a long queue costs one read.
local function promote(open)
  local at = 1
  local function reopen(resource, current)
    for i = at, #open do
      if open[i] == resource then
        return
      end
    end
    if resource ~= current then
      open[#open + 1] = resource
    end
  end
  while open[at] do
    local resource = open[at]
    at = at + 1
    each_in(QUEUE, from_start_of(resource), to_end_of(resource), function(member)
      local id = id_in_queue(resource, member)
      local r = fetch(id)
      if r.deadline <= now then
        hint(r.node, 'timed_out', id)
        bury(id, r, 'timed_out')
        for _, left in ipairs(resources_of(r)) do
          reopen(left, resource)
        end
        return false
      end
      local blocked = blocked_on(r.set, order_text(r.place, r.arrival), id)
      if not blocked then
        grant_claim(id, r)
        return false
      end
      return blocked == resource or mode_in_queue(resource, member) == 'x'
    end)
  end
end

local function finish(id, r, state)
  bury(id, r, state)
  promote(resources_of(r))
end
