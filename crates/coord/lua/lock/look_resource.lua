#!lua
-- Who holds one resource and who waits for it, first to last.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 channel, 3 resource, 4 how many of each to show
-- Reply resource, how many hold, how many wait, and a row for each that is shown, or
--       stale_epoch, rebuild
-- Time: none
local refusal = gate()
if refusal then
  return reply(refusal)
end
local resource, most = ARGV[3], tonumber(ARGV[4])
local from, to = from_start_of(resource), to_end_of(resource)
local rows, seen = {}, {}
for _, member in ipairs(call('ZRANGEBYLEX', HOLDERS, from, to, 'LIMIT', 0, most)) do
  add_row(rows, seen, string.sub(member, -ID_LENGTH))
end
for _, member in ipairs(call('ZRANGEBYLEX', QUEUE, from, to, 'LIMIT', 0, most)) do
  add_row(rows, seen, id_in_queue(resource, member))
end
local held, waited = call('ZLEXCOUNT', HOLDERS, from, to), call('ZLEXCOUNT', QUEUE, from, to)
return reply({ 'resource', held, waited, rows })
