#!lua
-- One process at a time rebuilds all models of a tenant: it begins, reports progress now and then,
-- and reports the end. A process that was silent for too long loses its turn. A rebuild whose start
-- is no longer stored was lost in between and does not count.
-- KEYS 1 head
-- ARGV 1 the builder, 2 'begin', 'go_on' or the number it has reached, 3 '1' to take over the turn
-- of others and to lower the number if needed, 4 ms of silence after which another may begin
-- Reply 1, or 0 if another process has the turn or the rebuild was lost
-- Time: Redis TIME, so that all processes share one clock
local whose = redis.call('HGET', KEYS[1], 'rebuild')
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if ARGV[2] == 'begin' then
  local silent_at = tonumber(redis.call('HGET', KEYS[1], 'rebuild_until')) or 0
  if whose and ARGV[3] ~= '1' and now < silent_at then
    return { 0 }
  end
elseif whose ~= ARGV[1] then
  return { 0 }
end
if ARGV[2] == 'begin' or ARGV[2] == 'go_on' then
  redis.call('HSET', KEYS[1], 'rebuild', ARGV[1], 'rebuild_until', now + tonumber(ARGV[4]))
  return { 1 }
end
redis.call('HDEL', KEYS[1], 'rebuild', 'rebuild_until')
local known = tonumber(redis.call('HGET', KEYS[1], 'seq')) or -1
if ARGV[3] == '1' or tonumber(ARGV[2]) > known then
  redis.call('HSET', KEYS[1], 'seq', ARGV[2])
end
return { 1 }
