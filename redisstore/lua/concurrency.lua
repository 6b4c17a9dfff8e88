-- Concurrency limits: engine/algo/concurrency.go, and with a weight fair_concurrency.go. The first key is a sorted set of
-- the holders by expiry, in µs. The second, holders, is a hash. It has the units and the lease time of each
-- holder and, in the field '', the format, the units of all holders and the time of
-- the last acquire or renewal. With a weight, a holder begins with the 8 bytes of its key's hash, and the hash has the
-- units of each key in a field of these 8 bytes. clock is the time of that acquire or renewal.

--- locals
local limit, lease_time, in_use, clock, holders, shortened
local weight, own_key, own -- 0, or the weight, the request's key and the units of all its holders
local holder, had -- whose permit an operation is about, and how many units it has
local grant -- how many units it gets: 0 releases its permit, nil leaves it as it is
local ended -- the holders whose permits have expired; with a weight, by_key has their units by key
local last, last_ends -- the holder whose permit expires last, and when; nil and 0 without permits
local others_end -- when the last permit of other holders expires, 0 if none counts

--- functions

-- permit_of returns a holder's units and its lease time. Format 1 did not store the
-- lease time: it is then the given one.
local function permit_of(value, length)
  local units, stored_time = string.match(value or '', '^(%d+) ?(%d*)$')
  return tonumber(units) or 0, tonumber(stored_time) or length
end

-- permits_of returns the sum of the holders' units, the units of each holder and the
-- lease time of each.
local function permits_of(holders, ids, length)
  local sum, units, lengths = 0, {}, {}
  for from = 1, #ids, 1000 do
    local to = math.min(from + 999, #ids)
    local some = call('HMGET', holders, unpack_list(ids, from, to))
    for i = 1, #some do
      local at = from + i - 1
      units[at], lengths[at] = permit_of(some[i], length)
      sum = sum + units[at]
    end
  end
  return sum, units, lengths
end

-- shorten returns all permits, by expiry, after the clock was set back: none lasts
-- longer than its lease time from now.
local function shorten(key, holders, length)
  local all, ids, list = call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}, {}
  for i = 1, #all, 2 do ids[#ids + 1] = all[i] end
  local _, units, lengths = permits_of(holders, ids, length)
  for i = 1, #ids do
    list[i] = { id = ids[i], units = units[i], expires = math.min(tonumber(all[2 * i]), now + lengths[i]) }
  end
  table.sort(list, function(a, b) return a.expires < b.expires end)
  return list
end

-- has_room returns whether the cost fits in addition to held units, of which the key has own. A holder can always have
-- fewer units than before.
local function has_room(held, own)
  local free = limit - held - cost
  return free >= 0 and (weight == 0 or cost <= had or own == 0 and cost == 1 or own + cost <= 8 * weight * free)
end

-- wait_for returns how long it takes until the cost fits in addition to held units, of which the key has own, without
-- those of the holder `but`. If the clock was set back, shortened has the permits.
local function wait_for(key, holders, held, own, length, shortened, but)
  local from = 0
  while not has_room(held, own) do
    local page = shortened or {}
    if not shortened then
      local some, ids = call('ZRANGEBYSCORE', key, '(' .. format('%d', now), '+inf', 'WITHSCORES', 'LIMIT', from, 100), {}
      for i = 1, #some, 2 do ids[#ids + 1] = some[i] end
      local _, units = permits_of(holders, ids, length)
      for i = 1, #ids do page[i] = { id = ids[i], units = units[i], expires = tonumber(some[2 * i]) } end
    end
    for i = 1, #page do
      local permit = page[i]
      if permit.id ~= but then
        held = held - permit.units
        if weight > 0 and string.sub(permit.id, 1, 8) == own_key then own = own - permit.units end
      end
      if has_room(held, own) then return permit.expires - now end
    end
    if shortened or #page == 0 then break end
    from = from + 100
  end
  -- The sum of the units is larger than that of the permits: one key was evicted.
  return has_room(held, own) and 0 or length
end

--- read
local stored
if weight > 0 then
  stored = call('HMGET', holders, '', holder, own_key)
else
  stored = call('HMGET', holders, '', holder)
end
own = tonumber(stored[3]) or 0
in_use, grant, had, last, last_ends = stored.err and stored or stored[1], nil, 0, nil, 0
absent, clock = not in_use, 0
if absent then
  in_use = 0
elseif type(in_use) == 'string' and #in_use == 9 and byte(in_use) == 1 then
  _, in_use = unpack('>BI8', in_use)
elseif type(in_use) == 'string' and #in_use == 17 and byte(in_use) == FORMAT then
  _, in_use, clock = unpack('>BI8i8', in_use)
else
  absent, err, in_use = true, state_error(in_use), 0
end
-- The last permit tells whether any counts, and when both keys expire.
ended = call('ZRANGE', key, -1, -1, 'WITHSCORES')
if ended.err then
  err, ended = err or ended.err, {}
elseif #ended > 0 then
  last, last_ends = ended[1], tonumber(ended[2])
  ended = call('ZRANGEBYSCORE', key, '-inf', format('%d', now))
end
if last_ends <= now then
  in_use, own, clock = 0, 0, 0
elseif #ended > 0 and not absent then
  local sum, units = permits_of(holders, ended, 0)
  in_use = in_use - sum
  if weight > 0 then
    local by_key = {}
    for i = 1, #ended do
      local of = string.sub(ended[i], 1, 8)
      by_key[of] = (by_key[of] or 0) + units[i]
    end
    own, ended.by_key = own - (by_key[own_key] or 0), by_key
  end
end
if stored[2] and not err then
  --@held
end

--- args
cost, limit, lease_time, weight, at = unpack('>I7I4I7B', arg, at)
k, holder, own_key = k + 1, '', ''
holders = KEYS[k]
if weight > 0 then
  own_key, at = string.sub(arg, at, at + 7), at + 8
  holder = own_key
end

--- settle
--@read
shortened = false
if clock > now then shortened = shorten(key, holders, lease_time) end
if shortened then shifted = true end

--- wait
wait = 0
if not has_room(0, 0) then
  wait = NEVER
elseif cost > 0 then
  wait = wait_for(key, holders, in_use, own, lease_time, shortened)
end

--- room
room = 0

--- holder
-- Of a reservation, after the limit's numbers.
local length = byte(arg, at)
holder, at = own_key .. string.sub(arg, at + 1, at + length), at + 1 + length

--- held
local expires = holder == last and last_ends or call('ZSCORE', key, holder)
if expires and tonumber(expires) > now then had = permit_of(stored[2], lease_time) end

--- charge
grant, in_use, own, clock = units, in_use - had + units, own - had + units, now

--- give

--- give_held
-- A permit is released whatever was used.
write = had > 0
grant, in_use, own = write and 0 or nil, in_use - had, own - had

--- penalize

--- report
remaining, reset, others_end = limit - in_use, 0, 0
if weight > 0 and remaining > 0 then
  local most, each = 8 * weight * remaining - own, 8 * weight + 1
  remaining = math.max(own == 0 and 1 or 0, (most - most % each) / each)
end
if remaining < 0 then remaining = 0 end
if shortened then
  for i = #shortened, 1, -1 do
    local permit = shortened[i]
    if not grant or permit.id ~= holder then
      others_end = permit.expires
      break
    end
  end
elseif grant and holder == last then
  local other = call('ZRANGE', key, -2, -2, 'WITHSCORES')
  if #other > 0 then others_end = tonumber(other[2]) end
else
  others_end = last_ends
end
if others_end > now then reset = others_end - now else others_end = 0 end
if grant and grant > 0 and reset < lease_time then reset = lease_time end

--- store
-- What expires with the clock set back far is written as it is cut. Both keys expire with the last permit.
if shortened then clock = now end
local header, permit = pack('>BI8i8', FORMAT, in_use, clock), grant and grant > 0 and format('%d %d', grant, lease_time)
local answer
if weight > 0 then
  if last_ends <= now then call('DEL', holders) end
  for of, less in pairs(ended.by_key or {}) do
    local left = (tonumber(call('HGET', holders, of) or nil) or 0) - less
    if of ~= own_key and left > 0 then
      call('HSET', holders, of, format('%d', left))
    elseif of ~= own_key then
      call('HDEL', holders, of)
    end
  end
  answer = call('HSET', holders, '', header, own_key, format('%d', own))
elseif permit and #ended == 0 then
  answer = call('HSET', holders, '', header, holder, permit)
else
  answer = call('HSET', holders, '', header)
end
if type(answer) == 'table' then
  err = answer.err
else
  if #ended > 0 then
    for from = 1, #ended, 1000 do
      call('HDEL', holders, unpack_list(ended, from, math.min(from + 999, #ended)))
    end
    call('ZREMRANGEBYSCORE', key, '-inf', format('%d', now))
  end
  if permit and (#ended > 0 or weight > 0) then call('HSET', holders, holder, permit) end
  for _, one in ipairs(shortened or {}) do call('ZADD', key, format('%d', one.expires), one.id) end
  if grant == 0 then
    call('ZREM', key, holder)
    call('HDEL', holders, holder)
    if weight > 0 and own == 0 then call('HDEL', holders, own_key) end
  elseif grant then
    call('ZADD', key, format('%d', now + lease_time), holder)
    if others_end < now + lease_time then others_end = now + lease_time end
  end
  if others_end == 0 then
    call('DEL', key, holders)
  elseif shortened or absent or others_end ~= last_ends then
    local left = others_end - now
    local rest = left % 1000
    if rest > 0 then left = left + 1000 - rest end
    left = format('%d', left / 1000 + pad)
    call('PEXPIRE', key, left)
    call('PEXPIRE', holders, left)
  end
end

--- suspend
suspended = { limit, in_use, lease_time, holders, shortened, clock, had, holder, absent, ended, last, last_ends, weight, own_key, own }

--- resume
limit, in_use, lease_time, holders, shortened, clock = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
had, holder, absent, ended, last, last_ends, grant = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], nil
weight, own_key, own = suspended[13], suspended[14], suspended[15]

--- ttl
k = k + 1
holders = KEYS[k]
local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
absent = #last ~= 2
if last.err then
  err = last.err
elseif not absent then
  ttl = tonumber(last[2]) - now
end
