#!lua
-- How far the models of a tenant have come: says it, or moves it on from where it was. If it is not
-- there any more, what was written since has been lost, and it stays where it is.
-- KEYS 1 head
-- ARGV 1 the number, or '' to ask, 2 the number that it must have now
-- Reply the number, -1 if there is none
-- Time: none
local known = tonumber(redis.call('HGET', KEYS[1], 'seq')) or -1
if ARGV[1] ~= '' and tonumber(ARGV[2]) == known then
  redis.call('HSET', KEYS[1], 'seq', ARGV[1])
  return { tonumber(ARGV[1]) }
end
return { known }
