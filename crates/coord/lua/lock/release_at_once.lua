#!lua
-- The fast path of release, checked before anything else is set up: a grant that is the only user
-- of all its resources, of an owner without a wait, and nothing but tombstones is due. All other
-- cases take the slow path, which does the same.
-- KEYS as tables.lua
-- ARGV as release.lua
-- Reply released, or nothing: then the slow path replies
-- Time: clock.lua
local id = ARGV[2]
local known = call('HMGET', BOOK, 'epoch', id)
if known[1] == ARGV[1] and known[2] then
  local at, state, token, place, arrival, deadline, registered =
    cmsgpack.unpack_limit(known[2], 6)
  local request = string.sub(known[2], at + 1)
  local owner, node, _, _, _, _, _, set = cmsgpack.unpack(request)
  local taken_by = taken_field(owner, node) or TAKEN_BY
  local freed = {}
  for i = 1, #set, 2 do
    freed[#freed + 1] = USERS_OF .. set[i]
  end
  local facts = call('HMGET', BOOK, WAIT_OF .. owner, HELD_BY .. owner, taken_by, unpack(freed))
  local is_alone = state == 'g' and deadline > now and not facts[1]
  for place_of = 4, #facts do
    is_alone = is_alone and facts[place_of] == id
  end
  if is_alone and drop_tombstones() then
    deadline = now + TOMBSTONE_TTL
    local written = { id,
      cmsgpack.pack('r', token, place, arrival, deadline, registered) .. request }
    if facts[2] == '1' then
      freed[#freed + 1] = HELD_BY .. owner
    else
      written[3], written[4] = HELD_BY .. owner, digits(facts[2] - 1)
    end
    local taken = (facts[3] or 0) - #set / 2
    if taken > 0 then
      written[#written + 1] = taken_by
      written[#written + 1] = digits(taken)
    else
      freed[#freed + 1] = taken_by
    end
    call('HSET', BOOK, unpack(written))
    call('HDEL', BOOK, unpack(freed))
    call('ZADD', REGISTRY, digits(deadline), id)
    return 'released'
  end
end
