-- Returns the open reservations whose terms have passed, earliest first, as alternating ids and bytes. KEYS are the
-- same as in reserve.lua. An id without bytes is dropped. For ARGV[2] µs no call returns these reservations again,
-- because the caller ends them in that time. Reservations that cannot be ended, such as those of a newer format,
-- therefore do not block later ones.
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[1])
local reservations, later = {}, { KEYS[2], 'XX' }
for _, id in ipairs(due) do
  local kept = redis.call('HGET', KEYS[1], id)
  if kept then
    reservations[#reservations + 1], reservations[#reservations + 2] = id, kept
    later[#later + 1], later[#later + 2] = string.format('%.0f', now + ARGV[2]), id
  else
    redis.call('ZREM', KEYS[2], id)
  end
end
if #later > 2 then redis.call('ZADD', unpack(later)) end
return reservations
