#!lua
-- A page of used resources in no particular order, because names are in the book, which is a hash.
-- Lease ids are secrets of their holders and cannot serve as a cursor.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 the cursor that the previous page returned, 0 at the start, 3 the number of
--      resources (a page may have a few more, or fewer if the book has many other entries),
--      4 the maximum number of holders of each
-- Reply held, the next cursor, 0 at the end, for each resource its name and its numbers of holders
--       and waiters, and a row for each listed lease, or stale_epoch, rebuild
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
