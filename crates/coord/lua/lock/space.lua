#!lua
-- The entry check of a space, its numbers, and its events. Nothing is written before `gate` has
-- admitted the caller.
-- KEYS as tables.lua
-- ARGV as tables.lua
-- Reply {answer, events}: an answer and an event are each a word and its values
-- Time: none
local EPOCH = tonumber(ARGV[1])
-- The channel is not passed as a key: it would look like a key that has moved away while a slot is
-- resharded.
local CHANNEL = string.gsub(BOOK, 'book$', 'channel')
local stored = call('HMGET', BOOK, 'epoch', 'tokens', 'orders', 'unsure_until', 'building')
local epoch = tonumber(stored[1])
local tokens = tonumber(stored[2]) or 0
local orders = tonumber(stored[3]) or 0
local unsure_until = tonumber(stored[4]) or 0
-- The epoch that is being rebuilt; the space has no epoch until the rebuild ends.
local building = tonumber(stored[5])
local events = {}

local function reply(answer)
  return { answer, events }
end

-- An event for the caller alone.
local function tell(...)
  events[#events + 1] = { ... }
end

-- An event about the lease of another owner wakes the process of that owner. Hints may get lost.
local function hint(node, ...)
  tell(...)
  local word, id = ...
  call('SPUBLISH', CHANNEL, word .. ' lease_' .. id .. ' ' .. node)
end

local function epoch_of(number)
  return math.floor(number / COUNTER_END)
end

local function counter_of(number)
  return number % COUNTER_END
end

-- Fails closed for older and newer epochs. Returns a refusal, or nil if the caller is admitted.
local function gate()
  if epoch == EPOCH then
    return nil
  end
  if epoch and epoch > EPOCH then
    return { 'stale_epoch', epoch }
  end
  -- A caller that arrives during a rebuild must not take the space for an empty one.
  return { 'rebuild', epoch or building and building - 1 or 0 }
end

-- Ensures that later tokens are above `floor`.
local function raise_tokens(floor)
  if floor > tokens then
    tokens = floor
    call('HSET', BOOK, 'tokens', digits(tokens))
  end
end

-- Returns a new token, or nil once the counter of this epoch is exhausted.
local function mint()
  if tokens + 1 >= COUNTER_END then
    return nil
  end
  tokens = tokens + 1
  call('HSET', BOOK, 'tokens', digits(tokens))
  return epoch * COUNTER_END + tokens
end

-- The place of the next arrival: its number minus its boost. Nil once the counter of this epoch is
-- exhausted.
local function new_place(r)
  if orders + 1 >= COUNTER_END then
    return nil
  end
  local arrival = epoch * COUNTER_END + orders + 1
  local steps = r.boost > 0 and r.boost + 1 or 0
  return arrival - steps, arrival
end

local function count_place()
  orders = orders + 1
  call('HSET', BOOK, 'orders', digits(orders))
end

-- Calls `visit` with every member of a lexical range until it returns true. It reads in pages,
-- and `visit` may remove members that it has been called with.
local function each_in(key, from, to, visit)
  while true do
    local page = call('ZRANGEBYLEX', key, from, to, 'LIMIT', '0', PAGE)
    for _, member in ipairs(page) do
      if visit(member) then
        return
      end
    end
    if #page < PAGE then
      return
    end
    from = '(' .. page[#page]
  end
end
