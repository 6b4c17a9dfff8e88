-- Moves states of token buckets, pacers and fixed windows between layouts. KEYS contains the old and the new key of
-- each state. ARGV contains their fields, which are empty for a state with a separate key. An expired state is deleted.
-- Each state is written before it is deleted, so an error in between loses no state, and the move can be repeated.
-- Returns the number of moved states, and the number of values that stay because they are not states.
local moved, stay = 0, 0

-- life returns the time until a state no longer counts, in ms. It returns nil for a value that is not a state.
local function life(value)
  local ends
  if type(value) ~= 'string' then return nil end
  local size, version = #value, string.byte(value) or 0
  if size == 34 and version < 3 or size == 36 and version == 3 then
    local _, clock, whole, part, rate, period = struct.unpack(size == 34 and '>Bi8I7I7I4I7' or '>Bi8I7I7I6I7', value)
    ends = clock + (period * whole + part) / rate * 1.000001
  elseif size == 13 and version < 3 or size == 15 and version == 3 then
    local _, _, at = struct.unpack(size == 13 and '>BI4i8' or '>BI6i8', value)
    ends = at
  else
    return nil
  end
  return math.ceil((ends - now) / 1000) + 1
end

-- write writes a state that counts for the given number of ms.
local function write(key, field, value, ms)
  if field == '' then
    redis.call('SET', key, value, 'PX', string.format('%.0f', ms + pad))
    return
  end
  redis.call('HSET', key, field, value)
  if redis.call('PTTL', key) < ms + pad then
    redis.call('PEXPIRE', key, string.format('%.0f', 2 * (ms + pad) + 10000))
  end
end

for i = 1, #KEYS, 2 do
  local from, to, field, new, value = KEYS[i], KEYS[i + 1], ARGV[i], ARGV[i + 1], nil
  if field == '' then value = redis.call('GET', from) else value = redis.call('HGET', from, field) end
  if value then
    local ms = life(value)
    if ms and ms > 0 then
      write(to, new, value, ms)
      moved = moved + 1
    end
    if not ms then
      stay = stay + 1
    elseif field == '' then
      redis.call('DEL', from)
    else
      redis.call('HDEL', from, field)
    end
  end
end
return { moved, stay }
