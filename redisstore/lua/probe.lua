-- Tries each command that scripts call, on a key that is used for nothing else, and returns the errors of the commands
-- that fail.
local failed, k = {}, KEYS[1]
local function try(name, ...)
  local answer = redis.pcall(name, ...)
  if type(answer) == 'table' and answer.err and not string.find(answer.err, 'WRONGTYPE') then
    failed[#failed + 1] = name .. ': ' .. answer.err
  end
end
try('time') try('set', k, 'x', 'px', '1000') try('get', k) try('mget', k) try('getrange', k, 0, 1) try('setrange', k, 0, 'y')
try('strlen', k) try('psetex', k, '1000', 'x') try('pexpire', k, '1000') try('del', k)
try('pttl', k) try('hset', k, 'f', 'v') try('hget', k, 'f') try('hmget', k, 'f') try('hdel', k, 'f') try('del', k)
try('zadd', k, '1', 'm') try('zscore', k, 'm') try('zrange', k, 0, 0) try('zrangebyscore', k, '-inf', '1') try('zcard', k) try('zrem', k, 'm')
try('zremrangebyscore', k, '-inf', '1')
try('del', k)
return failed
