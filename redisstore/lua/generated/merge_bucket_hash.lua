-- Generated from prelude.lua, common.lua, refill.lua, bucket.lua, hash.lua, hash_merge.lua, merge.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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

local pacer, debt, own_rate, own_period, burst, depth, depth_part
local most -- the largest cost, if the next request pays (debt is 2)
local rate, period, whole, part, clock, behind, _

-- span returns the time in which an amount refills, rounded up.
local function span(rate, period, whole, part)
  local q, r = period * whole + part, nil
  if q < WORD then
    r = q % rate
    q = (q - r) / rate
    if r > 0 then q = q + 1 end
    return q
  end
  q, r = muldiv(period, whole, rate)
  r = r + part
  local rest = r % rate
  q = q + (r - rest) / rate
  if rest > 0 then q = q + 1 end
  return q
end

-- Allows, peeks and gives of token buckets, pacers and fixed windows, and counts of
-- fixed windows, merged by key.
-- For each limit there is an argument with its numbers, how many groups of keys follow
-- and how many keys each group has: keys.lua and hash.lua say what a group is. If the
-- limit's cost is not 0, each key has one allow of that cost. Otherwise each key has an
-- argument of entries: whether any may charge, and then kind, cost and number of
-- equal operations in a row. The answer is the state that each key had before; the
-- client decides each operation on it with the steps of package algo (decode.go).
local GIVE, COUNT = 3, 9
local out, answered, a = { pack('>i8', now) }, 1, 0
local values, list, filled, longest -- of the states that are read or written together
do -- open
  list = {}
end

while a < count do
  local same_cost, groups
  a = a + 1
  arg, count_denied, taken = ARGV[a], 0, 0
  algorithm, groups, at = unpack('>BI2', arg)
  do -- args
    pacer, debt, cost, own_rate, own_period, burst, depth, depth_part, at = unpack('>BBI7I4I7I4I7I7', arg, at)
    if debt == 2 then most, at = unpack('>I7', arg, at) end
  end
  same_cost = cost -- each key has one allow of it; 0: each key has entries
  for _ = 1, groups do
    local keys, first
    keys, at = unpack('>I2', arg, at)
    do -- open_group
      k, first, filled, longest = k + 1, a, 0, 0
      key = KEYS[k]
      values = call('HMGET', key, unpack_list(ARGV, a + 1, a + keys))
      a = a + keys
    end
    for i = 1, keys do
      local entries, length, times, passed = nil, 2, 1, nil
      write, err = false, nil
      do -- next_state
        field, prior = ARGV[first + i], values[i]
        if values.err then prior = values end
      end
      if same_cost == 0 then
        a = a + 1
        entries = ARGV[a]
        cost, length = byte(entries), #entries
      else
        cost = same_cost
      end
      do -- get_state
      end
      local decided, before, read_error = false, prior or '\0', nil
      if same_cost > 0 and count_denied == 0 then -- nearly all end here
        do -- quick
          -- As alone, where the limit's numbers are in the locals.
          local version, clock, whole, part, rate, period = FORMAT, now, 0, 0, own_rate, own_period
          local known = not prior
          if not known and debt == 0 and type(prior) == 'string' and #prior == 34 then
            version, clock, whole, part, rate, period = unpack('>Bi8I7I7I4I7', prior)
            known = version == FORMAT and rate == own_rate and period == own_period
          end
          local gained = (now - clock) * rate
          if known and debt == 0 and gained >= 0 and gained < WORD then
            local rest = gained % period
            whole, part = whole - (gained - rest) / period, part - rest
            if part < 0 then whole, part = whole - 1, part + period end
            if whole < 0 then whole, part = 0, 0 end
            local after = whole + cost
            local missing = period * after + part
            decided = missing < WORD
            if decided and (after < depth or after == depth and part <= depth_part) then
              rest = missing % rate
              ttl = (missing - rest) / rate
              if rest > 0 then ttl = ttl + 1 end
              value = pack('>Bi8I7I7I4I7', FORMAT, now, after, part, rate, period)
              do -- write_state
                if ttl > 0 then
                  filled = filled + 2
                  list[filled - 1], list[filled] = field, value
                  if ttl > longest then longest = ttl end
                else
                  do -- delete_field
                    local answer = call('HDEL', key, field)
                    if type(answer) == 'table' then err = answer.err end
                  end
                end
              end
            end
          end
        end
      end
      if not decided then
        local may_charge = cost > 0
        do -- settle
          whole, part, clock, behind, shifted = 0, 0, now, 0, nil
          do -- read
            do -- get_state
            end
            absent = not prior
            if not absent then
              if type(prior) == 'string' and #prior == 34 and byte(prior) <= FORMAT then
                _, clock, whole, part, rate, period = unpack('>Bi8I7I7I4I7', prior)
              else
                absent, err = true, state_error(prior)
              end
            end
          end
          if absent then
            rate, period = own_rate, own_period
          else
            if clock > now then shifted = prior end
            -- The faster of the stored rate and the limit's own rate is in force.
            if (rate ~= own_rate or period ~= own_period) and muldiv(rate, own_period, period) < own_rate then
              do -- convert
                -- Converts the amount to units of 1/own_period token. The part is rounded up, so that
                -- the caller gets no more.
                local q, r = muldiv(part, own_period, period)
                if r > 0 then q = q + 1 end
                if q >= own_period then whole, q = whole + 1, q - own_period end
                part, rate, period = q, own_rate, own_period
              end
            end
            local elapsed = now - clock
            if elapsed >= 0 then
              clock = now
              if elapsed * rate >= WORD and elapsed >= span(rate, period, whole, part) then
                whole, part = 0, 0
              else
                local q, r = elapsed * rate, nil
                if q < WORD then
                  r = q % period
                  q = (q - r) / period
                else
                  q, r = muldiv(elapsed, rate, period)
                end
                whole, part = whole - q, part - r
                if part < 0 then whole, part = whole - 1, part + period end
                if whole < 0 then whole, part = 0, 0 end
              end
            elseif -elapsed > span(rate, period, burst, 0) and -elapsed > span(rate, period, whole, part) then
              -- The clock was set back farther than a refill takes: the state moves to now,
              -- under the rate that it was written under.
              local _, _, tokens, parts, count, unit = unpack('>Bi8I7I7I4I7', shifted)
              clock, shifted = now, pack('>Bi8I7I7I4I7', FORMAT, now, tokens, parts, count, unit)
              shifted_ttl = span(count, unit, tokens, parts)
            else
              behind, shifted = -elapsed, nil
            end
          end
        end
        before, read_error = prior or '\0', err
        for place = 2, read_error and 0 or length, 12 do
          if entries then kind, cost, times = unpack('>BI7I4', entries, place) end
          if entries and kind == GIVE then
            units = cost
            if not absent then
              write = true
              do -- give
                whole = whole - units
                if whole < 0 then whole, part = 0, 0 end
              end
              do -- resettle
                if whole == 0 and part == 0 then clock, behind = now, 0 end
                -- Less is missing now, so the clock may now be farther behind than a refill takes.
                if behind > 0 and behind > span(rate, period, burst, 0) and behind > span(rate, period, whole, part) then
                  clock, behind = now, 0
                end
              end
            end
          elseif entries and kind == COUNT then
            units, write, absent = cost * times, true, false
            do -- count
            end
          else
            local alone
            repeat -- the first allow under another rate is decided alone
              alone = false
              do -- room
                room = depth - whole
                if part > depth_part then room = room - 1 end
                if room < 0 or debt == 1 and whole >= burst then room = 0 elseif debt == 2 then room = most end
              end
              passed = times
              if cost * times > room then passed = (room - room % cost) / cost end
              do -- limit_passed
                -- A bucket with debt allows as long as a part of a token is there. The first allow
                -- under another rate puts the bucket under its own rate, so it is decided alone.
                if debt == 1 and passed > 0 then
                  local left = (burst - whole) / cost
                  if passed > left then passed = math.ceil(left) end
                end
                if passed > 1 and (rate ~= own_rate or period ~= own_period) then
                  passed, alone = 1, true
                end
              end
              if passed > 0 then
                units, write, absent = cost * passed, true, false
                do -- charge
                  if rate ~= own_rate or period ~= own_period then
                    do -- convert
                      -- Converts the amount to units of 1/own_period token. The part is rounded up, so that
                      -- the caller gets no more.
                      local q, r = muldiv(part, own_period, period)
                      if r > 0 then q = q + 1 end
                      if q >= own_period then whole, q = whole + 1, q - own_period end
                      part, rate, period = q, own_rate, own_period
                    end
                  end
                  whole, after = whole + units, behind
                end
              end
              times = times - passed
            until not alone
            if times > 0 and count_denied == 1 then
              do -- penalize_merged
              end
            end
          end
        end
        if write then
          shifted = nil
        elseif shifted and may_charge then
          write = true
        end
        if write and not read_error then
          wait, delay, window = 0, 0, 0
          do -- report
            remaining, reset = burst - whole, 0
            if part > 0 then remaining = remaining - 1 end
            if remaining < 0 then remaining = 0 end
            if whole > 0 or part > 0 then
              reset = span(rate, period, whole, part) + behind
            end
          end
          do -- store
            if shifted then
              value, ttl = shifted, shifted_ttl
            else
              value, ttl = pack('>Bi8I7I7I4I7', FORMAT, clock, whole, part, rate, period), reset
            end
            do -- write_state
              if ttl > 0 then
                filled = filled + 2
                list[filled - 1], list[filled] = field, value
                if ttl > longest then longest = ttl end
              else
                do -- delete_field
                  local answer = call('HDEL', key, field)
                  if type(answer) == 'table' then err = answer.err end
                end
              end
            end
          end
        end
      end
      if err then
        err = string.sub(err, 1, 255)
        before = pack('>BB', read_error and 254 or 255, #err) .. err .. (read_error and '' or before)
      end
      answered = answered + 1
      out[answered] = before
    end
    do -- close_group
      if filled > 0 then
        err = nil
        do -- write_fields
          -- Writes the fields and values in list. The hash lives at least until the last of its
          -- states has expired: its TTL is longer than that, so that it is seldom set again. The
          -- write comes first, because a server whose memory is full refuses only a script's first.
          local rest = longest % 1000
          if rest > 0 then longest = longest + 1000 - rest end
          local needed, left = longest / 1000 + pad, call('PTTL', key)
          local added = type(left) == 'table' and left or call('HSET', key, unpack_list(list, 1, filled))
          if type(added) == 'number' and left < needed then
            local answer = call('PEXPIRE', key, format('%d', needed + math.max(needed, 10000)))
            if type(answer) == 'table' then
              if left == -2 then call('DEL', key) end -- it would never end
              added = answer
            end
          end
          if type(added) == 'table' then
            err = added.err
          else
            do -- sweep
              -- Looks at some 128 fields, from where the last sweep ended, and deletes those that
              -- expired two seconds ago: a field of a key that soon comes again is better written over.
              -- The last digits of the time choose which writes sweep, so that on average three fields
              -- are looked at for every two new ones, and one for every ten writes if none is new.
              if now % 1376 <= added * 16 then
                local cursor = call('HGET', key, '') or '0'
                local page = call('HSCAN', key, cursor, 'COUNT', '128')
                local found, old, n, due = page[2] or {}, {}, 0, now - pad * 1000 - 2000000
                for i = 1, #found, 2 do
                  local value, gone = found[i + 1], false
                  do -- expired
                    -- In floating point, and never too early.
                    if #value == 34 and byte(value) <= FORMAT then
                      local _, clock, whole, part, rate, period = unpack('>Bi8I7I7I4I7', value)
                      gone = clock + (period * whole + part) / rate * 1.000001 < due
                    end
                  end
                  if gone and n < 1000 then
                    n = n + 1
                    old[n] = found[i]
                  end
                end
                if n > 0 then call('HDEL', key, unpack_list(old)) end
                if page[1] and page[1] ~= cursor then call('HSET', key, '', page[1]) end
              end
            end
          end
        end
        if err then -- then none of them is written
          err = string.sub(err, 1, 255)
          local text, place = pack('>BB', 255, #err) .. err, 1
          for i = 1, keys do
            if place < filled and list[place] == ARGV[first + i] then
              place = place + 2
              out[answered - keys + i] = text .. out[answered - keys + i]
            end
          end
        end
      end
    end
  end
end
return table.concat(out)
