#!lua
-- What every lock script works on: the four tables of one space.
-- KEYS 1 book, 2 holders, 3 queue, 4 registry; all of one slot, all or none exist
-- ARGV 1 the epoch the caller believes in
-- Reply none: a part of every lock script
-- Time: clock.lua
--
-- book      epoch, tokens, orders, unsure_until; building, builder, built_pages, building_until
--           while it is rebuilt; holding_waiters → how many owners hold and wait;
--           <lease id> → its record, packed; +<owner> → how many leases it holds;
--           ?<owner> → its one waiting lease; %<agent> → how many resources its leases hold or
--           wait for; =<resource> → the lease that has it to itself, or nothing if whoever holds
--           it or waits for it stands in the tables below
-- holders   resource US mode US lease id, so the modes of a resource lie together
-- queue     resource US order US lease id US mode, so a line lies in its order
-- registry  lease id by deadline
--
-- Ids are kept short, without what all of them begin with: there are very many.
-- One table for all that is found by name: the common case is one read of it and one write.
local BOOK, HOLDERS, QUEUE, REGISTRY = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local HELD_BY, WAIT_OF, USERS_OF, TAKEN_BY = '+', '?', '=', '%'
local call = redis.call

-- Between the fields of a member; AFTER_US is the next byte, the end of a range over one field.
local US, AFTER_US = '\31', '\32'
-- How much of a table one read takes.
local PAGE = 32

-- Redis writes a number that a script hands it as a float, which takes longer than most commands:
-- wherever it matters, commands are handed texts.
local function digits(number)
  return string.format('%d', number)
end

-- Where the resources of an agent that asks for itself are counted, whichever of its processes
-- asks; nothing for tasks and people. The owner begins with the letter of its kind, and the node
-- names the agent.
local function taken_field(owner, node)
  return string.sub(owner, 1, 1) == 'a' and TAKEN_BY .. string.match(node, '^[^@]*')
end

-- When an advisory lease was granted goes behind its request, where nothing else has to know of
-- it: how long a fenced one is held, PostgreSQL knows.
local function with_grant(request, delay)
  return delay < 0 and request .. cmsgpack.pack(now) or request
end
