-- Concurrency, as far as a peek sees it: algo/leases.go. A sorted set has the
-- holders by expiry, in µs; a hash has each one's units and the length of its
-- lease, and under the empty name the format, the units held by all and when the
-- last lease was taken or renewed.

--- locals
local limit, lease, in_use, latest, holders, late

--- functions

-- lease_of returns a holder's units and the length of its lease, which the format
-- before this one did not keep.
local function lease_of(value, length)
  local units, own = string.match(value or '', '^(%d+) ?(%d*)$')
  return tonumber(units) or 0, tonumber(own) or length
end

-- leases_of returns holders' units in all, each one's, and the lengths of their
-- leases.
local function leases_of(holders, ids, length)
  local sum, units, lengths = 0, {}, {}
  for from = 1, #ids, 1000 do
    local to = math.min(from + 999, #ids)
    local some = call('HMGET', holders, spread(ids, from, to))
    for i = 1, #some do
      local at = from + i - 1
      units[at], lengths[at] = lease_of(some[i], length)
      sum = sum + units[at]
    end
  end
  return sum, units, lengths
end

-- corrected returns all leases as they are after the clock was set back: none lasts
-- longer than its own length from now.
local function corrected(key, holders, length)
  local all, ids, list = call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}, {}
  for i = 1, #all, 2 do ids[#ids + 1] = all[i] end
  local _, units, lengths = leases_of(holders, ids, length)
  for i = 1, #ids do
    list[i] = { id = ids[i], units = units[i], expires = math.min(tonumber(all[2 * i]), now + lengths[i]) }
  end
  table.sort(list, function(a, b) return a.expires < b.expires end)
  return list
end

-- frees returns when so many units over will have expired, leaving out one
-- holder. Where the clock was set back, the leases are in late.
local function frees(key, holders, over, length, late, but)
  local from = 0
  while over > 0 do
    local page = late or {}
    if not late then
      local some, ids = call('ZRANGEBYSCORE', key, '(' .. format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', from, 100), {}
      for i = 1, #some, 2 do ids[#ids + 1] = some[i] end
      local _, units = leases_of(holders, ids, length)
      for i = 1, #ids do page[i] = { id = ids[i], units = units[i], expires = tonumber(some[2 * i]) } end
    end
    for i = 1, #page do
      if page[i].id ~= but then over = over - page[i].units end
      if over <= 0 then return page[i].expires - now end
    end
    if late or #page == 0 then break end
    from = from + 100
  end
  -- More is held than there are leases for: one of the two keys was evicted.
  return over > 0 and length or 0
end

--- read
in_use = call('HGET', holders, '')
absent, latest = not in_use, 0
if absent then
  in_use = 0
elseif type(in_use) == 'string' and #in_use == 9 and byte(in_use) == 1 then
  _, in_use = unpack('>BI8', in_use)
elseif type(in_use) == 'string' and #in_use == 17 and byte(in_use) == FORMAT then
  _, in_use, latest = unpack('>BI8i8', in_use)
else
  absent, err, in_use = true, complain(in_use), 0
end
if not absent then
  local ended = call('ZRANGEBYSCORE', key, '-inf', format('%.0f', now))
  if ended.err then
    err = ended.err
  elseif call('ZCARD', key) == #ended then
    in_use, latest = 0, 0
  else
    in_use = in_use - leases_of(holders, ended, 0)
  end
end

--- settle
cost, limit, lease, at = unpack('>I7I4I7', arg, at)
k = k + 1
holders = KEYS[k]
local _
--@read
late = false
if latest > now then late = corrected(key, holders, lease) end

--- probe
wait = 0
if cost > limit then
  wait = NEVER
elseif cost > 0 then
  wait = frees(key, holders, in_use + cost - limit, lease, late)
end

--- room
room = 0

--- charge

--- give

--- penalize

--- finish
remaining, reset = limit - in_use, 0
if remaining < 0 then remaining = 0 end
if late then
  if #late > 0 then reset = late[#late].expires - now end
else
  local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
  if #last == 2 then reset = tonumber(last[2]) - now end
end
if reset < 0 then reset = 0 end

--- hold
held = { limit, in_use, lease, holders, late }

--- resume
limit, in_use, lease, holders, late = held[1], held[2], held[3], held[4], held[5]

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
