#!lua
-- The records of some leases, tombstones included.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 on lease ids
-- Reply leases and a row for each that is known, or stale_epoch, rebuild
-- Time: none
local refusal = gate()
if refusal then
  return reply(refusal)
end
local rows, seen = {}, {}
for at = 2, #ARGV do
  add_row(rows, seen, ARGV[at])
end
return reply({ 'leases', rows })
