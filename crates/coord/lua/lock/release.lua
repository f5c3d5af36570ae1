#!lua
-- Releases a grant or cancels a wait. During a lock delay the holder itself reports that it has
-- stopped, so the delay ends.
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
if r and (r.state == 'waiting' or holds(r)) then
  tell('released', id)
  finish(id, r, 'released')
end
return reply(standing(id, r))
