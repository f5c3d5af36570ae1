#!lua
-- Reads or advances the number of the last event that the models of a tenant contain. If the stored
-- number is not the expected one, later writes have been lost, and the number is left unchanged.
-- KEYS 1 head
-- ARGV 1 the new number, or '' to read, 2 the expected current number
-- Reply the number, or -1 if the tenant has no models
-- Time: none
local known = tonumber(redis.call('HGET', KEYS[1], 'seq')) or -1
if ARGV[1] ~= '' and tonumber(ARGV[2]) == known then
  redis.call('HSET', KEYS[1], 'seq', ARGV[1])
  return { tonumber(ARGV[1]) }
end
return { known }
