-- Restores a holder's permit for each limit, as returned by permits_get.lua, after an acquire that another slot denied.
-- A permit that has changed since the acquire stays unchanged. If the earlier units no longer fit in addition to the
-- units of other holders, the acquired units stay. ARGV contains six texts for each pair of keys: the holder; the
-- beginning of the holder with the key's number, if the limit divides its units among keys, and otherwise an empty
-- text; the expiry of the acquired permit; the limit; and the two texts of the earlier permit.

-- units_of returns the number of units of a permit. In the stored text, the lease time follows it.
local function units_of(value) return tonumber(string.match(value, '^%d+')) end

for i = 1, #KEYS, 2 do
  local key, holders, at = KEYS[i], KEYS[i + 1], 3 * i
  local id, own_key, wrote = ARGV[at - 2], ARGV[at - 1], ARGV[at]
  local limit, expires, had = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
  local has, all, score = redis.call('HGET', holders, id), redis.call('HGET', holders, ''), redis.call('ZSCORE', key, id)
  if has and all and score and tonumber(score) == tonumber(wrote) then
    local format, in_use, latest = struct.unpack('>BI8i8', all)
    local squares = string.sub(all, 18)
    local others = in_use - units_of(has)
    if had == '' or tonumber(expires) <= now then
      in_use = others
      redis.call('ZREM', key, id)
      redis.call('HDEL', holders, id)
      had = '0'
    else
      if units_of(had) > units_of(has) and others + units_of(had) > limit then had = has end
      in_use = others + units_of(had)
      redis.call('ZADD', key, expires, id)
      redis.call('HSET', holders, id, had)
    end
    if own_key ~= '' then
      local own, more = tonumber(redis.call('HGET', holders, own_key) or 0), units_of(had) - units_of(has)
      squares = struct.pack('>I8', struct.unpack('>I8', squares) + more * (2 * own + more))
      redis.call(own + more > 0 and 'HSET' or 'HDEL', holders, own_key, own + more > 0 and string.format('%d', own + more) or nil)
    end
    local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
    if #last == 0 then
      redis.call('DEL', key, holders)
    else
      redis.call('HSET', holders, '', struct.pack('>BI8i8', format, in_use, latest) .. squares)
      local left = string.format('%.0f', math.ceil((tonumber(last[2]) - now) / 1000) + pad)
      redis.call('PEXPIRE', key, left)
      redis.call('PEXPIRE', holders, left)
    end
  end
end
return 1
