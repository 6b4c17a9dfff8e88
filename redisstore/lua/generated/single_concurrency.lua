-- Generated from prelude.lua, common.lua, concurrency.lua, keys.lua, single.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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

-- Operations on one limit each. An answer is a status byte, the units that "at most"
-- granted, and the outcome of the limit: decode.go. Operations on one history follow
-- each other: the history is read once and written once for all of them.
local AT_MOST, PEEK, GIVE = 1, 2, 3
local out, recompute_keys = { pack('>i8', now) }, nil
local continued = false -- this operation continues on the history of the last one
local unsaved -- the first operation whose change is not written yet
local unchanged -- the argument of the last operation, if it changed nothing

for j = 1, count do
  k, arg, at = k + 1, ARGV[j], 3
  key, kind, algorithm = KEYS[k], byte(arg, 1, 2)
  local allowed, granted = 1, 0
  count_denied, wait, delay, window, write, err, prior, ahead, after = 0, 0, 0, 0, false, nil, nil, 0, 0
  do -- field
  end
  do -- args
  end
  if not continued then
    shifted = nil
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
    unchanged = nil
  else
    do -- resettle
    end
  end
  if err == 'RECOMPUTE' or recompute_keys and recompute_keys[key] then
    -- It is sent again, and so are the operations that follow on its key, to keep
    -- their order.
    recompute_keys, err = recompute_keys or {}, 'RECOMPUTE'
    recompute_keys[key] = true
  end
  if arg == unchanged then
    out[j + 1], write = out[j], false
  elseif not err then
    if kind == GIVE then
      taken, at = unpack('>i8', arg, at)
      units, write = cost, cost > 0 and not absent
      if write then
        do -- give
        end
        do -- resettle
        end
      end
    else
      if kind == AT_MOST and cost > 0 then
        do -- room
          room = 0
        end
        local share
        share, ahead = unpack('>I2I2', arg, at)
        if share > 1 and room > 1 then
          room = (room - room % share) / share
          if room < 1 then room = 1 end
        end
        granted = room < cost and room or cost
        cost = granted > 0 and granted or 1
      end
      do -- wait
        wait = 0
        if cost > limit then
          wait = NEVER
        elseif cost > 0 then
          wait = wait_for(key, holders, in_use + cost - limit, lease_time, shortened)
        end
      end
      if wait == 0 then
        units = cost
        if cost > 0 and kind ~= PEEK then
          write = true
          do -- charge
          end
        end
      else
        allowed, delay = 0, 0
        if count_denied == 1 and cost > 0 and wait ~= NEVER then
          -- A peek answers the wait that counting would lead to, and counts nothing.
          if kind == PEEK then
            do -- suspend
              suspended = { limit, in_use, lease_time, holders, shortened }
            end
          end
          write = true
          do -- penalize
          end
          after = 0
          do -- wait
            wait = 0
            if cost > limit then
              wait = NEVER
            elseif cost > 0 then
              wait = wait_for(key, holders, in_use + cost - limit, lease_time, shortened)
            end
          end
          if kind == PEEK then
            do -- resume
              limit, in_use, lease_time, holders, shortened = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5]
            end
          end
        end
      end
      if kind == PEEK then write = false end
    end
    if write then
      absent, shifted = false, nil
    elseif shifted and cost > 0 and kind < PEEK then
      write = true
    end
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
    out[j + 1] = pack('>BI7I8I8I8I8I7B', allowed, granted, remaining, wait, reset, delay, after, window)
  end
  unchanged = not write and arg
  if write then unsaved = unsaved or j end
  continued = false
  if not err then
    do -- continues
    end
  end
  if unsaved and not continued and not err then
    do -- store
    end
  end
  if err then
    err = string.sub(err, 1, 255)
    err = pack('>BB', 2, #err) .. err
    for i = unsaved or j, j do out[i + 1] = err end
  end
  if not continued then unsaved = nil end
end
return table.concat(out)
