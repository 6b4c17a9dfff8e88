-- Generated from prelude.lua, common.lua, concurrency.lua, keys.lua, permits.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
--
-- The fragments share the locals of common.lua: the limit and the operation that are
-- being decided, and what the parts find out about them. lua/README.md has the parts
-- and their contract. A server gets this text without comments and indentation.

-- Tells scripts the time: now is the time of the server in µs. pad is 0 ms: a key lives
-- as long as it counts. count is the number of arguments.
local clock = redis.call('TIME')
local now, pad, count = clock[1] * 1000000 + clock[2], 0, #ARGV

local unpack_list = unpack
local call, pack, unpack, byte, format = redis.pcall, struct.pack, struct.unpack, string.byte, string.format

-- WORD is 2^53: below it a double holds every integer exactly. NEVER is the wait of
-- a cost that exceeds the capacity, the same number.
local WORD, NEVER = 9007199254740992, 9007199254740992

-- FORMAT is the first byte of every state; format.go has the same number. States of
-- the format before it are read.
local FORMAT = 2

-- muldiv returns the quotient and the remainder of a·b/d. If a·b does not fit into a
-- word, it is a long multiplication: digit by digit of b, from the highest, in the
-- largest base in which a remainder times a digit is still exact.
local function muldiv(a, b, d)
  local x = a * b
  if x < 9007199254740992 then
    local r = x % d
    return (x - r) / d, r
  end
  local r = a % d
  local q, rest, base, place, above = (a - r) / d * b, 0, 2, 1, 0
  while base * 2 * d <= 9007199254740992 and base < 67108864 do base = base * 2 end
  while place * base <= b do place = place * base end
  while place >= 1 do
    local low = b % place
    local x, y = rest * base, r * ((b - low) / place)
    local xr, yr = x % d, y % d
    above, rest = above * base + (x - xr) / d + (y - yr) / d, xr + yr
    if rest >= d then rest, above = rest - d, above + 1 end
    b, place = low, place / base
  end
  return q + above, rest
end

-- state_error returns the error of a value that is not a state: an error reply, or
-- bytes that are not a state of this format.
local function state_error(value)
  if type(value) == 'table' then return value.err end
  local version = string.byte(value)
  if version and version > FORMAT and version < 32 then return 'NEWER ' .. version end
  return 'GARBAGE ' .. #value
end

-- The operation and the limit that are being decided. All parts work on these
-- locals of the script: with tables and functions a decision took twice the time.
local key, k, arg, at, kind, algorithm = nil, 0
local field -- of the hash that key names, where states are fields
local cost, units, taken, count_denied, absent, wait, delay, window, room, remaining, reset
local write, err, prior, value, ttl, suspended, wrote
local after = 0 -- the charged units count so many µs after now
local ahead = 0 -- the units will be spent so many ms after now, and are logged then
-- After the server's clock was set back far, even a denied operation stores the state
-- with its times moved to now. shifted is that state, or true if the algorithm's
-- locals are that state; shifted_ttl is its TTL.
local shifted, shifted_ttl

local limit, lease_time, in_use, latest, holders, shortened

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

-- wait_for returns how long it takes until `over` units have expired, not counting
-- those of the holder `but`. If the clock was set back, shortened has the permits.
local function wait_for(key, holders, over, length, shortened, but)
  local from = 0
  while over > 0 do
    local page = shortened or {}
    if not shortened then
      local some, ids = call('ZRANGEBYSCORE', key, '(' .. format('%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', from, 100), {}
      for i = 1, #some, 2 do ids[#ids + 1] = some[i] end
      local _, units = permits_of(holders, ids, length)
      for i = 1, #ids do page[i] = { id = ids[i], units = units[i], expires = tonumber(some[2 * i]) } end
    end
    for i = 1, #page do
      if page[i].id ~= but then over = over - page[i].units end
      if over <= 0 then return page[i].expires - now end
    end
    if shortened or #page == 0 then break end
    from = from + 100
  end
  -- The sum of the units is larger than that of the permits: one key was evicted.
  return over > 0 and length or 0
end

-- Acquire, renew and release: engine/algo/hold.go. Each call that writes drops the
-- permits that have expired. After the clock was set back, no permit lasts longer than
-- its lease time from now, and each call writes that.
local ACQUIRE, RENEW = 6, 7
local out = { pack('>i8', now) }

-- units_held returns the units that the holder has of a limit, 0 if they are lost.
local function units_held(s, id)
  local expires = call('ZSCORE', s.key, id)
  if not expires or tonumber(expires) <= now then return 0 end
  return (permit_of(call('HGET', s.holders, id), s.lease_time))
end

-- grant writes a permit, which replaces the one that the holder had.
local function grant(s, id, had, units)
  s.in_use, s.latest = s.in_use - had + units, now
  call('ZADD', s.key, format('%.0f', now + s.lease_time), id)
  call('HSET', s.holders, id, format('%.0f %.0f', units, s.lease_time))
end

-- write_totals writes the field that concerns all holders.
local function write_totals(s)
  return call('HSET', s.holders, '', pack('>BI8i8', FORMAT, s.in_use, s.latest))
end

-- drop_expired drops the expired permits, before anything else is written.
local function drop_expired(s)
  local answer = write_totals(s)
  if type(answer) == 'table' then return answer.err end
  local ended = call('ZRANGEBYSCORE', s.key, '-inf', format('%.0f', now))
  for from = 1, #ended, 1000 do
    call('HDEL', s.holders, unpack_list(ended, from, math.min(from + 999, #ended)))
  end
  if #ended > 0 then call('ZREMRANGEBYSCORE', s.key, '-inf', format('%.0f', now)) end
end

-- set_expiry writes the units of all holders, and makes both keys expire with the
-- last permit.
local function set_expiry(s)
  local last = call('ZRANGE', s.key, -1, -1, 'WITHSCORES')
  if #last < 2 then
    call('DEL', s.key, s.holders)
    return
  end
  write_totals(s)
  local left = tonumber(last[2]) - now
  local rest = left % 1000
  if rest > 0 then left = left + 1000 - rest end
  left = format('%.0f', left / 1000 + pad)
  call('PEXPIRE', s.key, left)
  call('PEXPIRE', s.holders, left)
end

for j = 1, count do
  arg = ARGV[j]
  local limits, length = byte(arg, 2, 3)
  local id, steps, failed = string.sub(arg, 4, 3 + length), {}, nil
  local fits, same, live, any = true, true, true, false
  kind, at, wrote = byte(arg), 4 + length, false
  for i = 1, limits do
    k, at, err = k + 1, at + 1, nil
    key = KEYS[k]
    do -- settle
      cost, limit, lease_time, at = unpack('>I7I4I7', arg, at)
      k = k + 1
      holders = KEYS[k]
      local _
      do -- read
        in_use = call('HGET', holders, '')
        absent, latest = not in_use, 0
        if absent then
          in_use = 0
        elseif type(in_use) == 'string' and #in_use == 9 and byte(in_use) == 1 then
          _, in_use = unpack('>BI8', in_use)
        elseif type(in_use) == 'string' and #in_use == 17 and byte(in_use) == FORMAT then
          _, in_use, latest = unpack('>BI8i8', in_use)
        else
          absent, err, in_use = true, state_error(in_use), 0
        end
        if not absent then
          local ended = call('ZRANGEBYSCORE', key, '-inf', format('%.0f', now))
          if ended.err then
            err = ended.err
          elseif call('ZCARD', key) == #ended then
            in_use, latest = 0, 0
          else
            in_use = in_use - permits_of(holders, ended, 0)
          end
        end
      end
      shortened = false
      if latest > now then shortened = shorten(key, holders, lease_time) end
    end
    failed = failed or err
    if not failed then
      local s = { key = key, holders = holders, cost = cost, limit = limit, lease_time = lease_time, in_use = in_use, latest = latest, shortened = shortened, wait = 0 }
      s.had = units_held(s, id)
      if cost > limit then
        s.wait = NEVER
      else
        s.wait = wait_for(key, holders, in_use + cost - limit - s.had, lease_time, shortened, id)
      end
      fits, same, live = fits and s.wait == 0, same and s.had == cost, live and s.had > 0
      any = any or s.had > 0
      steps[i] = s
    end
  end
  local renews = kind == RENEW or kind == ACQUIRE and same
  local allowed = renews and live or kind == ACQUIRE and fits or kind > RENEW
  for i = 1, failed and 0 or limits do
    local s = steps[i]
    if renews then s.wait = allowed and 0 or NEVER end
    local release = kind > RENEW and s.had > 0
    if not failed and (kind <= RENEW and allowed or release or s.shortened) then
      if s.shortened then s.latest = now end
      failed = drop_expired(s)
      if not failed then
        wrote = true
        for _, e in ipairs(s.shortened or {}) do call('ZADD', s.key, format('%.0f', e.expires), e.id) end
        if release then
          s.in_use = s.in_use - s.had
          call('ZREM', s.key, id)
          call('HDEL', s.holders, id)
        elseif kind <= RENEW and allowed then
          grant(s, id, s.had, renews and s.had or s.cost)
        end
        set_expiry(s)
      end
    end
    if kind > RENEW then s.wait = 0 end
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[#out + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    local said = kind > RENEW and any or kind <= RENEW and allowed
    out[#out + 1] = pack('>BI7', said and 1 or 0, 0)
    for i = 1, limits do
      key, holders, in_use, limit, shortened = steps[i].key, steps[i].holders, steps[i].in_use, steps[i].limit, false
      write = false
      do -- report
        remaining, reset = limit - in_use, 0
        if remaining < 0 then remaining = 0 end
        if shortened then
          if #shortened > 0 then reset = shortened[#shortened].expires - now end
        else
          local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
          if #last == 2 then reset = tonumber(last[2]) - now end
        end
        if reset < 0 then reset = 0 end
      end
      out[#out + 1] = pack('>I8I8I8I8I7B', remaining, steps[i].wait, reset, 0, 0, 0)
    end
  end
end
return table.concat(out)
