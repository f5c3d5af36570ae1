#!lua
-- Begins an epoch with what PostgreSQL has registered. Compare-and-set: of several who saw the
-- old epoch end, one wins. Every table gets a member that is never removed: a key that is empty
-- would look like one that has moved away while its slot is resharded.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 channel, 3 when the last advisory lease of the lost epoch has run out, or 0;
--      4 on the holds, as record.lua reads them
-- Reply rebuilt and how many holds, or stale_epoch
-- Time: clock.lua
if epoch and epoch >= EPOCH then
  return reply({ 'stale_epoch', epoch })
end
call('UNLINK', META, REQUESTS, HOLDERS, QUEUE, REGISTRY)
call('HSET', META, 'epoch', EPOCH, 'unsure_until', ARGV[3])
call('HSET', REQUESTS, '', '')
call('ZADD', HOLDERS, 0, '')
call('ZADD', QUEUE, 0, '')
call('ZADD', REGISTRY, '+inf', '')
local at, count = 4, 0
while ARGV[at] do
  local id, r, next_at = read_hold(at)
  put(id, r)
  at, count = next_at, count + 1
end
return reply({ 'rebuilt', count })
