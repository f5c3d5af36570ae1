#!lua
-- Mints a new token for a grant because PostgreSQL has seen one at or above the current token.
-- Later tokens are above that floor as well.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 lease id, 3 the floor
-- Reply a status, or already_registered, stale_epoch, rebuild
-- Time: clock.lua
local refusal = enter()
if refusal then
  return reply(refusal)
end
local id, floor = ARGV[2], tonumber(ARGV[3])
local r = settle(id)
if not r or r.state ~= 'granted' then
  return reply(standing(id, r))
end
if r.registered then
  return reply({ 'already_registered' })
end
if epoch_of(floor) > epoch then
  return reply({ 'rebuild', epoch })
end
if epoch_of(floor) == epoch then
  raise_tokens(counter_of(floor))
end
local token = mint()
if not token then
  return reply({ 'rebuild', epoch })
end
r.token = token
save(id, r)
return reply(standing(id, r))
