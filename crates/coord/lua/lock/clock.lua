#!lua
-- The time of a call, read once. Whole microseconds are exact in a double until the year 2255;
-- `tostring` and `..` are not: they keep fourteen digits, so numbers are passed as numbers.
-- KEYS none
-- ARGV none
-- Reply none: a part of every lock script
-- Time: Redis TIME, so that all processes share one clock
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
