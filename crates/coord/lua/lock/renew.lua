#!lua
-- Extends many leases at once, grants and waits. For a waiter it is heartbeat and poll in one. An
-- advisory grant has a maximum age and then expires as if its holder had gone; for a fenced grant
-- PostgreSQL enforces the maximum age.
-- KEYS as tables.lua
-- ARGV 1 epoch, 2 on lease ids
-- Reply renewed and one status for each, or stale_epoch, rebuild
-- Time: clock.lua
local refusal = enter()
if refusal then
  return reply(refusal)
end
local answer = { 'renewed' }
for at = 2, #ARGV do
  local id = ARGV[at]
  local r = settle(id)
  local is_spent = r and r.state == 'granted' and r.held_since
    and now + r.ttl > r.held_since + HOLD_MAX
  if is_spent then
    answer[#answer + 1] = { 'spent', r.token, r.deadline }
  else
    if r and r.state == 'granted' then
      r.deadline = now + r.ttl
      save(id, r)
    elseif r and r.state == 'waiting' then
      r.deadline = now + r.wait
      save(id, r)
    end
    answer[#answer + 1] = standing(id, r)
  end
end
return reply(answer)
