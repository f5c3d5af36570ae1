#!lua
-- What is due on every call of a busy space: leases that ended a while ago. The common cases
-- forget them by the handful.
-- KEYS as tables.lua
-- ARGV none
-- Reply none: a part of the common cases
-- Time: clock.lua

-- As much of what is due as every call takes, if that is nothing but tombstones; false if it is
-- not, with nothing done.
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
