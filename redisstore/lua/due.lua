-- Returns the open reservations whose terms have passed, the earliest first: id and bytes, one after
-- another. KEYS are those of reserve.lua. An id without bytes is dropped.
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[1])
local reservations = {}
for _, id in ipairs(due) do
  local kept = redis.call('HGET', KEYS[1], id)
  if kept then
    reservations[#reservations + 1], reservations[#reservations + 2] = id, kept
  else
    redis.call('ZREM', KEYS[2], id)
  end
end
return reservations
