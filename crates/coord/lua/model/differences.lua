#!lua
-- The number of the last event in the models of a tenant, and the number of differences found.
-- KEYS 1 head
-- ARGV 1 the number of differences to add
-- Reply the number of the last event or -1, and the differences since the models were last lost
-- Time: none
if ARGV[1] ~= '0' then
  redis.call('HINCRBY', KEYS[1], 'differences', ARGV[1])
end
local known = redis.call('HMGET', KEYS[1], 'seq', 'differences')
return { tonumber(known[1]) or -1, tonumber(known[2]) or 0 }
