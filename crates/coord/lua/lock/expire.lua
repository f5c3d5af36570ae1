#!lua
-- Expiry of leases: grants expire (after a lock delay if registered), waits time out, tombstones
-- vanish. A lease whose deadline has come is never revived.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of every lock script
-- Time: clock.lua

local function lapse(id, r)
  if r.state == 'granted' then
    hint(r.node, 'expired', id)
    if r.registered and r.delay > 0 then
      r.state = 'delayed'
      -- Counted from the deadline, as in PostgreSQL: a late sweep does not extend the delay.
      r.deadline = r.deadline + r.delay
      save(id, r)
    else
      finish(id, r, 'expired')
    end
  elseif r.state == 'delayed' then
    finish(id, r, 'expired')
  elseif r.state == 'waiting' then
    hint(r.node, 'timed_out', id)
    finish(id, r, 'timed_out')
  else
    forget(id)
  end
end

-- Processes up to `limit` due records by one step each, earliest deadline first.
local function sweep(limit)
  local done = 0
  while done < limit do
    local id = call('ZRANGEBYSCORE', REGISTRY, '-inf', digits(now), 'LIMIT', '0', '1')[1]
    if not id then
      break
    end
    lapse(id, fetch(id))
    done = done + 1
  end
  return done
end

-- Brings one lease up to date, even if the sweep has not reached it, and returns it.
local function settle(id)
  local r = fetch(id)
  while r and r.deadline <= now do
    lapse(id, r)
    r = fetch(id)
  end
  return r
end

-- The entry check of every command except the sweep: returns a refusal, or nil.
local function enter()
  local refusal = gate()
  if not refusal then
    sweep(SWEEP_PER_CALL)
  end
  return refusal
end
