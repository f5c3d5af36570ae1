#!lua
-- Cancels a wait. If the grant came first, it stays, and the reply says that the owner holds it.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 lease id
-- Reply a status, or stale_epoch, rebuild
-- Time: clock.lua
local refusal = enter()
if refusal then
  return reply(refusal)
end
local id = ARGV[2]
local r = settle(id)
if r and r.state == 'waiting' then
  tell('released', id)
  finish(id, r, 'released')
end
return reply(standing(id, r))
