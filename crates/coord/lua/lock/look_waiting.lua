#!lua
-- All waits, up to a number, and the holders of the awaited resources.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 how many waits
-- Reply waiting, 1 if there are more, and a row for each lease, or stale_epoch, rebuild
-- Time: none
local refusal = gate()
if refusal then
  return reply(refusal)
end
local most = tonumber(ARGV[2])
local rows, seen, resources = {}, {}, {}
local has_more = 0
each_in(QUEUE, '(', '+', function(member)
  local resource = string.match(member, '^([^' .. US .. ']+)')
  if #rows >= most then
    has_more = 1
    return true
  end
  add_row(rows, seen, id_in_queue(resource, member))
  resources[#resources + 1] = resource
end)
local known = {}
for _, resource in ipairs(resources) do
  if not known[resource] then
    known[resource] = true
    for _, id in ipairs(holders_of(resource, PAGE)) do
      add_row(rows, seen, id)
    end
  end
end
return reply({ 'waiting', has_more, rows })
