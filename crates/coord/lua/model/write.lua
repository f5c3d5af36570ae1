#!lua
-- Writes one task with some of its requests, and adds them to queues or removes them. A write of a
-- version older than the stored one changes nothing.
-- KEYS 1 state, 2 data, then for each request its hash and the queue of its reviewer
-- ARGV 1 version, 2 '1' to write even an older version, 3 the TTL of values, 4 the TTL of
--      tombstones, both in milliseconds, 5 '1' if the task exists, 6 its state, 7 author,
--      8 agent or '', 9 type, 10 data or '' if it is too large, then for each request its member
--      of the queue, its score, and its data or '' if it is closed
-- Reply 1 if it was written, else 0
-- Time: none
local state, data = KEYS[1], KEYS[2]
local version, life, gone = ARGV[1], ARGV[3], ARGV[4]
local known = tonumber(redis.call('HGET', state, 'version'))
if ARGV[2] ~= '1' and known and known > tonumber(version) then
  return { 0 }
end
redis.call('DEL', state)
if ARGV[5] == '1' then
  redis.call('HSET', state, 'version', version, 'state', ARGV[6], 'author', ARGV[7],
    'agent', ARGV[8], 'type', ARGV[9])
  redis.call('PEXPIRE', state, life)
else
  redis.call('HSET', state, 'version', version, 'gone', '1')
  redis.call('PEXPIRE', state, gone)
end
if ARGV[5] == '1' and ARGV[10] ~= '' then
  redis.call('SET', data, ARGV[10], 'PX', life)
else
  redis.call('UNLINK', data)
end
local place = 11
for at = 3, #KEYS, 2 do
  local request, queue = KEYS[at], KEYS[at + 1]
  local before = redis.call('HGET', request, 'member')
  redis.call('ZREM', queue, before or ARGV[place], ARGV[place])
  redis.call('DEL', request)
  if ARGV[place + 2] ~= '' then
    redis.call('HSET', request, 'member', ARGV[place], 'data', ARGV[place + 2])
    redis.call('PEXPIRE', request, life)
    redis.call('ZADD', queue, ARGV[place + 1], ARGV[place])
    redis.call('PEXPIRE', queue, life)
  else
    redis.call('HSET', request, 'gone', '1')
    redis.call('PEXPIRE', request, gone)
  end
  place = place + 3
end
return { 1 }
