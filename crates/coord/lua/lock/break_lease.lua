#!lua
-- Ends a hold on behalf of an operator, without the consent of the holder. For a fenced lease this
-- is only as safe as the fence that PostgreSQL sets as well.
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
if r and holds(r) then
  hint(r.node, 'broken', id)
  finish(id, r, 'broken')
end
return reply(standing(id, r))
