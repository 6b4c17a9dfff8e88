-- Concurrency, as far as a peek sees it: algo/leases.go. A sorted set has the
-- holders by expiry, in µs; a hash has each one's units, and under the empty
-- name the format and the units held by all.

--- locals
local limit, lease, in_use, latest, holders

--- functions

-- units_of returns the units of holders.
local function units_of(holders, ids)
  local sum, all = 0, {}
  for from = 1, #ids, 1000 do
    local to = math.min(from + 999, #ids)
    local some = call('HMGET', holders, spread(ids, from, to))
    for i = 1, #some do
      all[from + i - 1] = tonumber(some[i]) or 0
      sum = sum + all[from + i - 1]
    end
  end
  return sum, all
end

-- frees returns when so many units over will have expired, leaving out one
-- holder. Leases that would outlive one taken now end with it.
local function frees(key, holders, over, latest, but)
  local from = 0
  while over > 0 do
    local page = call('ZRANGEBYSCORE', key, '(' .. format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', from, 100)
    if #page == 0 then break end
    local ids = {}
    for i = 1, #page, 2 do ids[#ids + 1] = page[i] end
    local _, units = units_of(holders, ids)
    for i = 1, #ids do
      if ids[i] ~= but then over = over - units[i] end
      if over <= 0 then return math.min(tonumber(page[2 * i]), latest) - now end
    end
    from = from + 100
  end
  -- More is held than there are leases for: one of the two keys was evicted.
  return over > 0 and latest - now or 0
end

--- read
in_use = call('HGET', holders, '')
absent = not in_use
if absent then
  in_use = 0
elseif type(in_use) ~= 'string' or #in_use ~= 9 or byte(in_use) ~= 1 then
  absent, err, in_use = true, complain(in_use), 0
else
  _, in_use = unpack('>BI8', in_use)
  local ended = call('ZRANGEBYSCORE', key, '-inf', format('%.0f', now))
  if ended.err then
    err = ended.err
  elseif call('ZCARD', key) == #ended then
    in_use = 0
  else
    in_use = in_use - units_of(holders, ended)
  end
end

--- settle
cost, limit, lease, at = unpack('>I7I4I7', arg, at)
k, latest = k + 1, now + lease
holders = KEYS[k]
local _
--@read

--- probe
wait = 0
if cost > limit then
  wait = NEVER
elseif cost > 0 then
  wait = frees(key, holders, in_use + cost - limit, latest)
end

--- room
room = 0

--- charge

--- give

--- penalize

--- finish
remaining, reset = limit - in_use, 0
if remaining < 0 then remaining = 0 end
local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
if #last == 2 then
  reset = math.min(tonumber(last[2]), latest) - now
  if reset < 0 then reset = 0 end
end

--- hold
held = { limit, in_use, latest, holders }

--- resume
limit, in_use, latest, holders = held[1], held[2], held[3], held[4]

--- lasts
k = k + 1
holders = KEYS[k]
local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
absent = #last ~= 2
if last.err then
  err = last.err
elseif not absent then
  ttl = tonumber(last[2]) - now
end
