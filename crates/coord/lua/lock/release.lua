#!lua
-- Gives back a grant or takes back a wait. In a lock delay it is the holder itself who says that
-- it has stopped, so nothing is left to wait for.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 lease id
-- Reply a standing, or stale_epoch, rebuild
-- Time: clock.lua
local refusal = enter()
if refusal then
  return reply(refusal)
end
local id = ARGV[2]
local r = settle(id)
if r and (r.state == 'waiting' or holds(r)) then
  tell('released', id)
  finish(id, r, 'released')
end
return reply(standing(id, r))
