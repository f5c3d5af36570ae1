#!lua
-- Marks a queue as complete, or deletes it.
-- KEYS 1 queue
-- ARGV 1 the mark, or '' to delete the queue, 2 the TTL in milliseconds
-- Reply 1
-- Time: none
if ARGV[1] == '' then
  redis.call('UNLINK', KEYS[1])
else
  redis.call('ZADD', KEYS[1], 0, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return { 1 }
