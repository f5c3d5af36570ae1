#!lua
-- The stored model of one task, all of one version.
-- KEYS 1 state, 2 data, 3 head
-- ARGV none
-- Reply nothing if it is not stored; else the head of the tenant's models or -1, version, '1' if
--       the task is deleted, author, agent, type, and data or ''
-- Time: none
local known = redis.call('HMGET', KEYS[1], 'version', 'gone', 'author', 'agent', 'type')
if not known[1] then
  return {}
end
local head = tonumber(redis.call('HGET', KEYS[3], 'seq')) or -1
return { head, tonumber(known[1]), known[2] or '', known[3] or '', known[4] or '', known[5] or '',
  redis.call('GET', KEYS[2]) or '' }
