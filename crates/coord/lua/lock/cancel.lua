#!lua
-- Takes back a wait, never a grant that came first: its owner is told that it holds.
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
if r and r.state == 'waiting' then
  tell('released', id)
  finish(id, r, 'released')
end
return reply(standing(id, r))
