-- Keeps a member in its group for the given time, removes expired members, and returns all members.
-- The key expires with the last member.
local key, member, ends, most = KEYS[1], ARGV[1], now + tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
if not redis.call('ZSCORE', key, member) and redis.call('ZCARD', key) >= most then return 'full' end
redis.call('ZADD', key, string.format('%.0f', ends), member)
local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
redis.call('PEXPIRE', key, string.format('%.0f', math.ceil((tonumber(last[2]) - now) / 1000) + pad))
return redis.call('ZRANGE', key, 0, -1)
