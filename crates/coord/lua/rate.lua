#!lua
-- Takes calls from several rates at once: the requested number from each, or one from each, or none
-- at all. For each rate, the time is stored at which everything taken so far is used up; the key
-- expires at that time.
-- KEYS one for each rate
-- ARGV 1 requested calls, then for each rate: microseconds per call, and how many microseconds
--      ahead of the current time it may run
-- Reply admitted calls, the rate with the fewest calls left or the longest wait (from 0), its calls
--      left, microseconds until its quota is fully restored, microseconds to wait
-- Time: Redis TIME, so that all processes share one clock
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local used_up, gap, ahead = redis.call('MGET', unpack(KEYS)), {}, {}
for i = 1, #KEYS do
  gap[i], ahead[i] = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  used_up[i] = math.max(tonumber(used_up[i] or 0), now)
end
local function fits(calls)
  for i = 1, #KEYS do
    if used_up[i] + calls * gap[i] > now + ahead[i] then
      return false
    end
  end
  return true
end
local calls = tonumber(ARGV[1])
if not fits(calls) then
  calls = fits(1) and 1 or 0
end
local at, left, wait = 0, nil, nil
for i = 1, #KEYS do
  local waits = calls > 0 and 0 or math.max(used_up[i] + gap[i] - ahead[i] - now, 0)
  used_up[i] = used_up[i] + calls * gap[i]
  if calls > 0 then
    local kept = math.ceil((used_up[i] - now) / 1000)
    redis.call('SET', KEYS[i], string.format('%.0f', used_up[i]), 'PX', string.format('%.0f', kept))
  end
  local has = math.max(math.floor((now + ahead[i] - used_up[i]) / gap[i]), 0)
  if not left or waits > wait or (waits == wait and has < left) then
    at, left, wait = i, has, waits
  end
end
return { calls, at - 1, left, used_up[at] - now, wait }
