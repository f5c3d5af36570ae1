#!lua
-- An operator frees what a holder has. The holder is not asked: for a fenced lease this is only
-- as safe as the fence that PostgreSQL sets beside it.
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
if r and holds(r) then
  hint(r.node, 'broken', id)
  finish(id, r, 'broken')
end
return reply(standing(id, r))
