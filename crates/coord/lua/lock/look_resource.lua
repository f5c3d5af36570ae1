#!lua
-- The holders of one resource and its waiters, first to last.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 resource, 3 the maximum number of holders and of waiters
-- Reply resource, the numbers of holders and waiters, and a row for each listed lease, or
--       stale_epoch, rebuild
-- Time: none
local refusal = gate()
if refusal then
  return reply(refusal)
end
local resource, most = ARGV[2], tonumber(ARGV[3])
local from, to = from_start_of(resource), to_end_of(resource)
local rows, seen = {}, {}
local ids, held = holders_of(resource, most)
for _, id in ipairs(ids) do
  add_row(rows, seen, id)
end
for _, member in ipairs(call('ZRANGEBYLEX', QUEUE, from, to, 'LIMIT', 0, most)) do
  add_row(rows, seen, id_in_queue(resource, member))
end
return reply({ 'resource', held, waiting_for(resource), rows })
