#!lua
-- Lets a caller through, or says how long it has to wait. For each caller one number is kept: the
-- time at which it would have used up what it took so far.
-- KEYS 1 caller → that time
-- ARGV 1 caller, 2 microseconds that one call takes, 3 how far ahead that time may run, 4 how long
--      the whole is kept after the last call, in milliseconds
-- Reply the microseconds to wait, 0 if it may go on
-- Time: Redis's own clock
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local caller, gap, ahead = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local used_up = math.max(tonumber(redis.call('HGET', KEYS[1], caller)) or 0, now)
local wait = used_up + gap - ahead - now
if wait > 0 then
  return { wait }
end
redis.call('HSET', KEYS[1], caller, string.format('%.0f', used_up + gap))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { 0 }
