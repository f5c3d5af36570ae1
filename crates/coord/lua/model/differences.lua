#!lua
-- How far the models of a tenant have come, and how often they were wrong.
-- KEYS 1 head
-- ARGV 1 how many more were wrong
-- Reply the number of the last event or -1, and how many were wrong since they were last lost
-- Time: none
if ARGV[1] ~= '0' then
  redis.call('HINCRBY', KEYS[1], 'differences', ARGV[1])
end
local known = redis.call('HMGET', KEYS[1], 'seq', 'differences')
return { tonumber(known[1]) or -1, tonumber(known[2]) or 0 }
