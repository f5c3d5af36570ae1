#!lua
-- The gate of a space, its numbers, and the two ways to tell something. Nothing is written before
-- `gate` has let the caller in.
-- KEYS as tables.lua
-- ARGV as tables.lua
-- Reply {answer, events}: an answer and an event are each a word and what belongs to it
-- Time: none
local EPOCH = tonumber(ARGV[1])
-- Beside the tables, but no key: counted as one it would look like a key that has moved away while
-- a slot is resharded.
local CHANNEL = string.gsub(BOOK, 'book$', 'channel')
local stored = call('HMGET', BOOK, 'epoch', 'tokens', 'orders', 'unsure_until', 'building')
local epoch = tonumber(stored[1])
local tokens = tonumber(stored[2]) or 0
local orders = tonumber(stored[3]) or 0
local unsure_until = tonumber(stored[4]) or 0
-- The epoch that is being rebuilt: until that is done there is none.
local building = tonumber(stored[5])
local events = {}

local function reply(answer)
  return { answer, events }
end

-- An event that only the caller needs to hear of.
local function tell(...)
  events[#events + 1] = { ... }
end

-- An event about somebody else's lease: its process is woken. A hint; nobody may rely on it.
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

-- Fails closed both ways. A refusal, or nil for whoever may come in.
local function gate()
  if epoch == EPOCH then
    return nil
  end
  if epoch and epoch > EPOCH then
    return { 'stale_epoch', epoch }
  end
  -- Whoever sees a rebuild under way must not take it for a space that is empty.
  return { 'rebuild', epoch or building and building - 1 or 0 }
end

-- Never below `floor` again.
local function raise_tokens(floor)
  if floor > tokens then
    tokens = floor
    call('HSET', BOOK, 'tokens', digits(tokens))
  end
end

-- Nil once the counter of this epoch is used up.
local function mint()
  if tokens + 1 >= COUNTER_END then
    return nil
  end
  tokens = tokens + 1
  call('HSET', BOOK, 'tokens', digits(tokens))
  return epoch * COUNTER_END + tokens
end

-- The place of the next arrival: its number, less what a boost steps past. Nil once the counter
-- of this epoch is used up.
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

-- Calls `visit` with every member of a lexical range until it returns true; reads in pages,
-- and may be used while the members it has shown are taken out.
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
