#!lua
-- Processes due records, up to a bound. Any process may call it at any time.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 how many records at most
-- Reply swept and how many, or stale_epoch, rebuild
-- Time: clock.lua
local refusal = gate()
if refusal then
  return reply(refusal)
end
return reply({ 'swept', sweep(tonumber(ARGV[2])) })
