#!lua
-- The common case, before anything else is even set up: one resource, exclusive, nobody on it and
-- nothing due. Whatever is not plainly so is left to the long way, which decides the same.
-- KEYS as tables.lua
-- ARGV as acquire.lua
-- Reply a standing, or none: the long way answers
-- Time: clock.lua
local has_numbers = tokens + 1 < COUNTER_END and orders + 1 < COUNTER_END
if epoch == EPOCH and has_numbers and ARGV[3] == 'new' and #ARGV == 16 and ARGV[16] == 'x' then
  local id, owner, resource = ARGV[6], ARGV[7], ARGV[15]
  local from, to = '[' .. resource .. US, '(' .. resource .. AFTER_US
  local facts = call('HMGET', META, 'waits:' .. owner, 'holds:' .. owner)
  if not facts[1]
    and (ARGV[10] ~= '-1' or now >= unsure_until)
    and not call('ZRANGEBYSCORE', REGISTRY, '-inf', now, 'LIMIT', 0, 1)[1]
    and call('HEXISTS', REQUESTS, id) == 0
    and not call('ZRANGEBYLEX', HOLDERS, from, to, 'LIMIT', 0, 1)[1]
    and not call('ZRANGEBYLEX', QUEUE, from, to, 'LIMIT', 0, 1)[1]
  then
    local token = epoch * COUNTER_END + tokens + 1
    local deadline = now + ARGV[11]
    call('HSET', META, 'tokens', tokens + 1, 'holds:' .. owner, (facts[2] or 0) + 1)
    -- As `save` of record.lua writes it.
    call('HSET', REQUESTS, id, cmsgpack.pack('granted', owner, ARGV[8], tonumber(ARGV[9]),
      tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]),
      { resource, 'x' }, token, nil, nil, deadline, nil))
    call('ZADD', REGISTRY, deadline, id)
    call('ZADD', HOLDERS, 0, resource .. US .. 'x' .. US .. id)
    return { { 'granted', token, deadline }, { { 'acquired', id, token } } }
  end
end
