#!lua
-- The fast path of acquire, checked before anything else is set up: all modes are exclusive, no
-- resource is in use, and nothing but tombstones is due. All other cases take the slow path, which
-- reaches the same decision.
-- KEYS as tables.lua
-- ARGV as acquire.lua
-- Reply token and deadline, or nothing: then the slow path replies
-- Time: clock.lua
if not ARGV[4] then
  local id, request = ARGV[2], ARGV[3]
  local owner, node, _, delay, ttl, _, _, set = cmsgpack.unpack(request)
  local taken_by = taken_field(owner, node)
  local read = { 'epoch', 'tokens', 'orders', 'unsure_until', WAIT_OF .. owner, id,
    HELD_BY .. owner, taken_by or TAKEN_BY }
  local is_exclusive = true
  for i = 1, #set, 2 do
    is_exclusive = is_exclusive and set[i + 1] == 'x'
    read[#read + 1] = USERS_OF .. set[i]
  end
  local known = call('HMGET', BOOK, unpack(read))
  local is_free = is_exclusive and known[1] == ARGV[1] and not known[5] and not known[6]
    and (delay >= 0 or now >= tonumber(known[4]))
  for at = 9, #read do
    is_free = is_free and not known[at]
  end
  local taken = (known[8] or 0) + #set / 2
  local count = (known[2] or 0) + 1
  local has_numbers = count < COUNTER_END and (known[3] or 0) + 1 < COUNTER_END
  if is_free and has_numbers and taken <= LOCKS_PER_AGENT_MAX and drop_tombstones() then
    local token, deadline = ARGV[1] * COUNTER_END + count, now + ttl
    request = with_grant(request, delay)
    local written = { 'tokens', digits(count), HELD_BY .. owner, digits((known[7] or 0) + 1), id,
      cmsgpack.pack('g', token, nil, nil, deadline, nil) .. request }
    for at = 9, #read do
      written[#written + 1] = read[at]
      written[#written + 1] = id
    end
    if taken_by then
      written[#written + 1] = taken_by
      written[#written + 1] = digits(taken)
    end
    call('HSET', BOOK, unpack(written))
    call('ZADD', REGISTRY, digits(deadline), id)
    return { token, deadline }
  end
end
