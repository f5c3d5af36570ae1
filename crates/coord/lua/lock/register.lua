#!lua
-- Records that PostgreSQL has registered this grant. Only from now on does its expiry need a delay.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 lease id
-- Reply a status, or not_fenced, stale_epoch, rebuild
-- Time: clock.lua
local refusal = enter()
if refusal then
  return reply(refusal)
end
local id = ARGV[2]
local r = settle(id)
if r and r.state == 'granted' then
  if r.delay < 0 then
    return reply({ 'not_fenced' })
  end
  r.registered = true
  save(id, r)
end
return reply(standing(id, r))
