#!lua
-- Begins to write all models of a tenant, or says that they are written. What was begun and is not
-- remembered any more was lost in between, and does not count.
-- KEYS 1 head
-- ARGV 1 whose work it is, 2 the number it has seen, or '' to begin, 3 '1' to go back if need be
-- Reply 1, or 0 if it was lost
-- Time: none
if ARGV[2] == '' then
  redis.call('HSET', KEYS[1], 'rebuild', ARGV[1])
  return { 1 }
end
if redis.call('HGET', KEYS[1], 'rebuild') ~= ARGV[1] then
  return { 0 }
end
redis.call('HDEL', KEYS[1], 'rebuild')
local known = tonumber(redis.call('HGET', KEYS[1], 'seq')) or -1
if ARGV[3] == '1' or tonumber(ARGV[2]) > known then
  redis.call('HSET', KEYS[1], 'seq', ARGV[2])
end
return { 1 }
