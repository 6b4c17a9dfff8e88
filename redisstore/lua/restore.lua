-- Puts back what a holder had of each limit, after an acquire that another slot
-- refused: what held.lua found. A lease that has changed since the acquire stays,
-- and so do units that no longer fit beside what others have taken. Keys keep
-- their TTL: it is that of the acquire, which is longer.
local id = ARGV[1]
for i = 1, #KEYS, 2 do
  local key, holders, at = KEYS[i], KEYS[i + 1], 2 * i
  local wrote, limit, expires, units = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
  local has, all, score = redis.call('HGET', holders, id), redis.call('HGET', holders, ''), redis.call('ZSCORE', key, id)
  if has and all and score and tonumber(score) == tonumber(wrote) then
    local _, in_use = struct.unpack('>BI8', all)
    local others = in_use - tonumber(has)
    if units == '' or tonumber(expires) <= now then
      in_use = others
      redis.call('ZREM', key, id)
      redis.call('HDEL', holders, id)
    else
      if tonumber(units) > tonumber(has) and others + tonumber(units) > limit then units = has end
      in_use = others + tonumber(units)
      redis.call('ZADD', key, expires, id)
      redis.call('HSET', holders, id, units)
    end
    if redis.call('ZCARD', key) == 0 then
      redis.call('DEL', key, holders)
    else
      redis.call('HSET', holders, '', struct.pack('>BI8', 1, in_use))
    end
  end
end
return 1
