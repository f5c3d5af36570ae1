#!lua
-- A page of what is used, in no order: names lie in the book, which is a hash. Lease ids are
-- secrets of their holders and no place to go on from.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 the place at which the page before ended, 0 at the start, 3 how many resources
--      (a page may be a few over, or end early where much else lies in the book),
--      4 how many holders of each
-- Reply held, the place to go on from, 0 at the end, for each resource its name, how many hold it
--       and how many wait, and a row for each lease that is shown, or stale_epoch, rebuild
-- Time: none
local refusal = gate()
if refusal then
  return reply(refusal)
end
local place, most, most_holders = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local places, rows, seen, scans = {}, {}, {}, 0
repeat
  local page = call('HSCAN', BOOK, place, 'MATCH', USERS_OF .. '*', 'COUNT', most)
  place, scans = page[1], scans + 1
  for at = 1, #page[2], 2 do
    local resource = string.sub(page[2][at], 1 + #USERS_OF)
    local ids, held = holders_of(resource, most_holders)
    for _, id in ipairs(ids) do
      add_row(rows, seen, id)
    end
    if held > 0 then
      places[#places + 1] = { resource, held, waiting_for(resource) }
    end
  end
until place == '0' or #places >= most or scans == SCANS_MAX
return reply({ 'held', place, places, rows })
