#!lua
-- Begins an epoch with the holds registered in PostgreSQL, page by page. This is a compare-and-set:
-- of several processes that saw the old epoch end, one wins. Callers are refused until the last
-- page. Every table gets a member that is never removed, because an empty key would look like one
-- that has moved away while its slot is resharded.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 when the last advisory lease of the lost epoch expires, or 0; 3 the builder,
--      4 the number of the page, 5 more or last, 6 on the holds, as record.lua reads them
-- Reply rebuilt and how many holds the page has, or stale_epoch
-- Time: clock.lua
local builder, page = ARGV[3], tonumber(ARGV[4])
local current = call('HMGET', BOOK, 'builder', 'built_pages', 'building_until')
local is_begun = building == EPOCH and current[1] == builder
local is_left_alone = not building or building < EPOCH or tonumber(current[3]) <= now
local can_go_on = is_begun and page <= current[2] + 1 or page == 1 and is_left_alone
if epoch and epoch >= EPOCH or not can_go_on then
  return reply({ 'stale_epoch', epoch or building or EPOCH })
end
if not is_begun then
  call('UNLINK', BOOK, HOLDERS, QUEUE, REGISTRY)
  call('HSET', BOOK, 'building', EPOCH, 'builder', builder)
  call('ZADD', HOLDERS, '0', '')
  call('ZADD', QUEUE, '0', '')
  call('ZADD', REGISTRY, '+inf', '')
end
-- A page that is sent twice, because its reply was lost, is read once.
if not is_begun or page > tonumber(current[2]) then
  for at = 6, #ARGV, 4 do
    put(read_hold(at))
  end
  call('HSET', BOOK, 'built_pages', page, 'building_until', digits(now + REBUILD_PAUSE_MAX))
end
if ARGV[5] == 'last' then
  call('HDEL', BOOK, 'building', 'builder', 'built_pages', 'building_until')
  call('HSET', BOOK, 'epoch', EPOCH, 'unsure_until', ARGV[2])
end
return reply({ 'rebuilt', (#ARGV - 5) / 4 })
