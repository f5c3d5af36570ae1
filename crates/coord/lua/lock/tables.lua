#!lua
-- The four tables of one space, which every lock script works on.
-- KEYS 1 book, 2 holders, 3 queue, 4 registry; all of one slot, all or none exist
-- ARGV 1 the epoch that the caller expects
-- Reply none: a part of every lock script
-- Time: clock.lua
--
-- book      epoch, tokens, orders, unsure_until; building, builder, built_pages, building_until
--           while it is rebuilt; holding_waiters → how many owners hold and wait;
--           <lease id> → its record, packed; +<owner> → how many leases it holds;
--           ?<owner> → its one waiting lease; %<agent> → how many resources its leases hold or
--           wait for; =<resource> → its single exclusive holder, or nothing if its holders and
--           waiters are in the tables below
-- holders   resource US mode US lease id, so that the modes of a resource are adjacent
-- queue     resource US order US lease id US mode, so that a queue is sorted
-- registry  lease id by deadline
--
-- Ids are stored without their common prefix, because there are very many.
-- One table has all entries that are found by name: the fast path reads and writes it once.
local BOOK, HOLDERS, QUEUE, REGISTRY = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local HELD_BY, WAIT_OF, USERS_OF, TAKEN_BY = '+', '?', '=', '%'
local call = redis.call

-- The separator of fields in a member; AFTER_US is the next byte, the end of a range over a field.
local US, AFTER_US = '\31', '\32'
-- The number of entries that one read returns.
local PAGE = 32

-- Redis formats numbers from scripts as floats, which takes longer than most commands. Where it
-- matters, numbers are passed to commands as strings.
local function digits(number)
  return string.format('%d', number)
end

-- Returns the field that counts the resources of an agent over all of its processes, or false if
-- the owner is a task or a person. The owner begins with the letter of its kind, and the node names
-- the agent.
local function taken_field(owner, node)
  return string.sub(owner, 1, 1) == 'a' and TAKEN_BY .. string.match(node, '^[^@]*')
end

-- Appends the grant time to the request of an advisory lease, where other code can ignore it. For a
-- fenced lease, PostgreSQL tracks how long it is held.
local function with_grant(request, delay)
  return delay < 0 and request .. cmsgpack.pack(now) or request
end
