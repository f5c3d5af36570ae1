#!lua
-- The data of requests, in their order.
-- KEYS requests
-- ARGV none
-- Reply each its data, '' where there is none
-- Time: none
local answer = {}
for at, request in ipairs(KEYS) do
  answer[at] = redis.call('HGET', request, 'data') or ''
end
return answer
