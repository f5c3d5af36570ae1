#!lua
-- Extends many leases at once, grants and waits alike: for a waiter it is heartbeat and poll.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 on lease ids
-- Reply renewed and one standing for each, or stale_epoch, rebuild
-- Time: clock.lua
local refusal = enter()
if refusal then
  return reply(refusal)
end
local answer = { 'renewed' }
for at = 2, #ARGV do
  local id = ARGV[at]
  local r = settle(id)
  if r and r.state == 'granted' then
    r.deadline = now + r.ttl
    save(id, r)
  elseif r and r.state == 'waiting' then
    r.deadline = now + r.wait
    save(id, r)
  end
  answer[#answer + 1] = standing(id, r)
end
return reply(answer)
