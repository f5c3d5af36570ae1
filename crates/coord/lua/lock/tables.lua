#!lua
-- What every lock script works on: the five tables of one space, its epoch and its counters.
-- KEYS 1 meta, 2 requests, 3 holders, 4 queue, 5 registry; all of one slot, all or none exist
-- ARGV 1 the epoch the caller believes in, 2 the channel for hints: no key, and counted as one it
--      would look like a key that has moved away while a slot is resharded
-- Reply none: a part of every lock script
-- Time: none
local META, REQUESTS, HOLDERS, QUEUE, REGISTRY = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local EPOCH, CHANNEL = tonumber(ARGV[1]), ARGV[2]
local call = redis.call

-- Between the fields of a member; AFTER_US is the next byte, the end of a range over one field.
local US, AFTER_US = '\31', '\32'
-- How much of a table one read takes.
local PAGE = 32

local stored = call('HMGET', META, 'epoch', 'tokens', 'orders', 'unsure_until')
local epoch = tonumber(stored[1])
local tokens = tonumber(stored[2]) or 0
local orders = tonumber(stored[3]) or 0
local unsure_until = tonumber(stored[4]) or 0
