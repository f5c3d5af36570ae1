#!lua
-- The open requests of one person, if the queue is complete.
-- KEYS 1 head, 2 queue
-- ARGV 1 the event number that the models must have reached, 2 the maximum number of members,
--      3 the mark
-- Reply nothing if the queue is incomplete, outdated or too long; else the head, then every member
-- Time: none
local head = tonumber(redis.call('HGET', KEYS[1], 'seq'))
if not head or head < tonumber(ARGV[1]) or not redis.call('ZSCORE', KEYS[2], ARGV[3])
  or redis.call('ZCARD', KEYS[2]) - 1 > tonumber(ARGV[2]) then
  return {}
end
local answer = { head }
for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  if member ~= ARGV[3] then
    answer[#answer + 1] = member
  end
end
return answer
