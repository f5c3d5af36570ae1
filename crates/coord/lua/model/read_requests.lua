#!lua
-- The data of requests, in their order.
-- KEYS requests
-- ARGV none
-- Reply the data of each request, '' for a request that is not found
-- Time: none
local answer = {}
for at, request in ipairs(KEYS) do
  answer[at] = redis.call('HGET', request, 'data') or ''
end
return answer
