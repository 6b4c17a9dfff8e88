-- Concurrency limits: engine/algo/concurrency.go and, if there is a weight, fair_concurrency.go. The first key is a
-- sorted set of the holders by expiry, in µs. The second key, holders, is a hash with the units and the lease time of
-- each holder. Its field '' contains the format, the units of all holders and the time of the last acquire or renewal,
-- which is clock. If there is a weight, a holder begins with 8 bytes, the hash of its key. In this case the second key
-- also contains the units of each key, in a field named by these 8 bytes, and its field '' also contains the sum of
-- their squares.

--- locals
local limit, lease_time, in_use, clock, holders, shortened
local weight, own_key, own -- weight is 0 if there is none; the request's key, and the units of all its holders
local total -- if there is a weight, the sum of the squares of all keys' units
local holder, had -- the holder of the operation's permit, and its units
local grant -- the units that it gets: 0 releases its permit, nil does not change it
local ended -- the holders of expired permits; if there is a weight, ended.left contains the remaining units of their keys
local last, last_ends -- the holder of the permit that expires last, and its expiry; nil and 0 if there are no permits
local others_end -- the expiry of the last permit of other holders, or 0 if none counts

--- functions

-- permit_of returns a holder's units and its lease time.
local function permit_of(value)
  local units, length = string.match(value or '', '^(%d+) (%d+)$')
  return tonumber(units) or 0, tonumber(length) or 0
end

-- permits_of returns the sum of the holders' units, and the units and the lease time of each holder.
local function permits_of(holders, ids)
  local sum, units, lengths = 0, {}, {}
  for from = 1, #ids, 1000 do
    local to = math.min(from + 999, #ids)
    local some = call('HMGET', holders, unpack_list(ids, from, to))
    for i = 1, #some do
      local at = from + i - 1
      units[at], lengths[at] = permit_of(some[i])
      sum = sum + units[at]
    end
  end
  return sum, units, lengths
end

-- shorten returns all permits by expiry after the clock was set back: no permit lasts longer than its lease time from
-- now.
local function shorten(key, holders)
  local all, ids, list = call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}, {}
  for i = 1, #all, 2 do ids[#ids + 1] = all[i] end
  local _, units, lengths = permits_of(holders, ids)
  for i = 1, #ids do
    list[i] = { id = ids[i], units = units[i], expires = math.min(tonumber(all[2 * i]), now + lengths[i]) }
  end
  table.sort(list, function(a, b) return a.expires < b.expires end)
  return list
end

-- room_for returns the largest cost that fits in addition to held units. The key holds own of these units, and squares
-- is the sum of the squares of all keys' units. A holder can always reduce its units.
local function room_for(held, own, squares)
  local free = limit - held
  if weight == 0 or free <= 0 then return free end
  local reserve = (limit + 15 - (limit + 15) % 16) / 16
  local most = free - math.ceil(reserve / weight)
  if held > 0 then
    local kept = reserve * held
    local q, r = muldiv(kept, free + own, weight * squares + kept)
    if r > 0 then q = q + 1 end
    most = math.max(free - q, free - math.ceil(2 * reserve / weight))
  end
  return math.max(most, own == 0 and 1 or 0, math.min(had, free))
end

-- wait_for returns the time until the cost fits in addition to held units, without those of the holder `but`. The key
-- holds own of these units. If the clock was set back, shortened contains the permits.
local function wait_for(key, holders, held, own, squares, shortened, but)
  if cost <= room_for(held, own, squares) then return 0 end
  local from, most, left, ends = 0, 4, { [own_key] = own }, now -- most waits need only a few permits
  while true do
    local page = shortened or {}
    if not shortened then
      local some, ids = call('ZRANGEBYSCORE', key, '(' .. format('%d', now), '+inf', 'WITHSCORES', 'LIMIT', from, most), {}
      for i = 1, #some, 2 do ids[#ids + 1] = some[i] end
      local _, units = permits_of(holders, ids)
      for i = 1, #ids do page[i] = { id = ids[i], units = units[i], expires = tonumber(some[2 * i]) } end
    end
    for i = 1, #page do
      local permit = page[i]
      -- Permits with the same expiry expire together. Between two such expiries, fewer units can fit.
      if permit.expires > ends and cost <= room_for(held, own, squares) then return ends - now end
      if permit.id ~= but then
        ends = permit.expires
        held = held - permit.units
        if weight > 0 then
          local of = string.sub(permit.id, 1, 8)
          local units = left[of] or ended.left and ended.left[of] or tonumber(call('HGET', holders, of) or 0)
          left[of], squares = units - permit.units, squares - permit.units * (2 * units - permit.units)
          own = left[own_key]
        end
      end
    end
    if shortened or #page < most then break end
    from, most = from + most, 100
  end
  -- The sum of the units exceeds the units of the permits: one of the two keys was evicted.
  return cost <= room_for(held, own, squares) and ends - now or lease_time
end

--- read
local stored
if weight > 0 then
  stored = call('HMGET', holders, '', holder, own_key)
else
  stored = call('HMGET', holders, '', holder)
end
own, total = tonumber(stored[3]) or 0, 0
in_use, grant, had, last, last_ends = stored.err and stored or stored[1], nil, 0, nil, 0
absent, clock = not in_use, 0
if absent then
  in_use = 0
elseif type(in_use) == 'string' and #in_use == (weight > 0 and 25 or 17) and byte(in_use) == FORMAT then
  if weight > 0 then total = unpack('>I8', in_use, 18) end
  _, in_use, clock = unpack('>BI8i8', in_use)
else
  absent, err, in_use = true, state_error(in_use), 0
end
-- The last permit shows whether any permit counts, and when both keys expire.
ended = call('ZRANGE', key, -1, -1, 'WITHSCORES')
if ended.err then
  err, ended = err or ended.err, {}
elseif #ended > 0 then
  last, last_ends = ended[1], tonumber(ended[2])
  ended = call('ZRANGEBYSCORE', key, '-inf', format('%d', now))
end
if last_ends <= now then
  in_use, own, total, clock = 0, 0, 0, 0
elseif #ended > 0 and not absent then
  local sum, units = permits_of(holders, ended)
  in_use = in_use - sum
  if weight > 0 then
    local left = { [own_key] = own }
    for i = 1, #ended do
      local of = string.sub(ended[i], 1, 8)
      local had = left[of] or tonumber(call('HGET', holders, of) or 0)
      left[of], total = had - units[i], total - units[i] * (2 * had - units[i])
    end
    own, ended.left = left[own_key], left
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
if clock > now then shortened = shorten(key, holders) end
if shortened then shifted = true end

--- wait
wait = 0
if cost > room_for(0, 0, 0) then
  wait = NEVER
elseif cost > 0 then
  local before = had
  had = 0 -- a reserve adds to the holder's units
  wait = wait_for(key, holders, in_use, own, total, shortened)
  had = before
end

--- room
room = 0

--- holder
-- In a reservation, the holder follows the limit's parameters.
local length = byte(arg, at)
holder, at = own_key .. string.sub(arg, at + 1, at + length), at + 1 + length

--- held
local expires = holder == last and last_ends or call('ZSCORE', key, holder)
if expires and tonumber(expires) > now then had = permit_of(stored[2]) end

--- charge
grant, in_use, total, own, clock = units, in_use - had + units, total + (units - had) * (2 * own + units - had), own + units - had, now

--- give

--- give_held
-- The permit is released; the number of used units has no effect.
write = had > 0
grant, in_use, total, own = write and 0 or nil, in_use - had, total - had * (2 * own - had), own - had

--- penalize

--- report
had = 0
remaining, reset, others_end = room_for(in_use, own, total), 0, 0
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

--- extra
if weight > 0 then
  local square = in_use * in_use
  value = value .. pack('>I4I4I4', in_use, own, total > 0 and (square - square % total) / total or 0)
end

--- store
-- If the clock was set back, the shortened permits are written. Both keys expire with the last permit.
if shortened then clock = now end
local header, permit = pack('>BI8i8', FORMAT, in_use, clock) .. (weight > 0 and pack('>I8', total) or ''), grant and grant > 0 and format('%d %d', grant, lease_time)
local answer
if weight > 0 then
  if last_ends <= now then call('DEL', holders) end
  for of, units in pairs(ended.left or {}) do
    if of ~= own_key and units > 0 then
      call('HSET', holders, of, format('%d', units))
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
suspended = { limit, in_use, lease_time, holders, shortened, clock, had, holder, absent, ended, last, last_ends, weight, own_key, own, total }

--- resume
limit, in_use, lease_time, holders, shortened, clock = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
had, holder, absent, ended, last, last_ends, grant = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], nil
weight, own_key, own, total = suspended[13], suspended[14], suspended[15], suspended[16]

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
