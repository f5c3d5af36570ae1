#!lua
-- Tombstones: leases that ended a while ago. On a busy space some are due with every call, and the
-- fast paths delete a few of them.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of the fast paths
-- Time: clock.lua

-- Deletes as many due records as every call processes, if all of them are tombstones; otherwise
-- changes nothing and returns false.
local function drop_tombstones()
  local due = call('ZRANGEBYSCORE', REGISTRY, '-inf', digits(now), 'LIMIT', '0',
    digits(SWEEP_PER_CALL))
  if not due[1] then
    return true
  end
  for _, packed in ipairs(call('HMGET', BOOK, unpack(due))) do
    local _, state = cmsgpack.unpack_one(packed)
    if state == 'g' or state == 'd' or state == 'w' then
      return false
    end
  end
  call('HDEL', BOOK, unpack(due))
  call('ZREM', REGISTRY, unpack(due))
  return true
end
