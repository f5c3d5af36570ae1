#!lua
-- A page of what is held, resource by resource in the order of their names. Lease ids are secrets
-- of their holders and no place to go on from.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 channel, 3 the resource after which the page begins, empty at the start,
--      4 how many resources, 5 how many holders of each
-- Reply held, for each resource its name, how many hold it and how many wait, and a row for each
--       lease that is shown, or stale_epoch, rebuild
-- Time: none
local refusal = gate()
if refusal then
  return reply(refusal)
end
local most, most_holders = tonumber(ARGV[4]), tonumber(ARGV[5])
local places, rows, seen = {}, {}, {}
-- The member that is never removed is empty: everything else comes after it.
local from = ARGV[3] == '' and '(' or '[' .. ARGV[3] .. AFTER_US
while #places < most do
  local first = call('ZRANGEBYLEX', HOLDERS, from, '+', 'LIMIT', 0, 1)[1]
  if not first then
    break
  end
  local resource = string.match(first, '^[^' .. US .. ']+')
  local start, stop = from_start_of(resource), to_end_of(resource)
  for _, member in ipairs(call('ZRANGEBYLEX', HOLDERS, start, stop, 'LIMIT', 0, most_holders)) do
    add_row(rows, seen, string.sub(member, -ID_LENGTH))
  end
  local held = call('ZLEXCOUNT', HOLDERS, start, stop)
  local waited = call('ZLEXCOUNT', QUEUE, start, stop)
  places[#places + 1] = { resource, held, waited }
  from = '[' .. resource .. AFTER_US
end
return reply({ 'held', places, rows })
