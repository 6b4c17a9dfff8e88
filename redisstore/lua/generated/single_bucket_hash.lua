-- Generated from prelude.lua, common.lua, refill.lua, bucket.lua, hash.lua, single.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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
    field, at = unpack('>I2c0', arg, at)
  end
  do -- args
    pacer, debt, cost, own_rate, own_period, burst, depth, depth_part, at = unpack('>BBI7I4I7I4I7I7', arg, at)
    if debt == 2 then most, at = unpack('>I7', arg, at) end
  end
  if not continued then
    shifted = nil
    do -- settle
      whole, part, clock, behind, shifted = 0, 0, now, 0, nil
      do -- read
        do -- get_state
          prior = prior or call('HGET', key, field)
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
    unchanged = nil
  else
    do -- resettle
      if whole == 0 and part == 0 then clock, behind = now, 0 end
      -- Less is missing now, so the clock may now be farther behind than a refill takes.
      if behind > 0 and behind > span(rate, period, burst, 0) and behind > span(rate, period, whole, part) then
        clock, behind = now, 0
      end
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
    else
      if kind == AT_MOST and cost > 0 then
        do -- room
          room = depth - whole
          if part > depth_part then room = room - 1 end
          if room < 0 or debt == 1 and whole >= burst then room = 0 elseif debt == 2 then room = most end
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
        wait, delay = 0, 0
        local price = debt == 2 and 0 or cost
        if cost > (debt == 2 and most or depth) then
          wait = NEVER
        elseif cost > 0 then
          local over, over_part = whole + price - depth, part - depth_part
          if debt == 1 and whole >= burst and cost <= depth - burst then
            -- A bucket in debt denies until a token is there.
            over, over_part = whole - burst, part + 1
          end
          if over_part < 0 then over, over_part = over - 1, over_part + period end
          if over > 0 or over == 0 and over_part > 0 then
            wait = span(rate, period, over, over_part) + behind
          elseif pacer == 1 and whole + price >= burst then
            delay = span(rate, period, whole + price - burst, part)
          end
        end
      end
      if wait == 0 then
        units = cost
        if cost > 0 and kind ~= PEEK then
          write = true
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
      else
        allowed, delay = 0, 0
        if count_denied == 1 and cost > 0 and wait ~= NEVER then
          -- A peek answers the wait that counting would lead to, and counts nothing.
          if kind == PEEK then
            do -- suspend
              suspended = { pacer, debt, own_rate, own_period, burst, depth, depth_part, rate, period, whole, part, clock, behind, most }
            end
          end
          write = true
          do -- penalize
          end
          after = 0
          do -- wait
            wait, delay = 0, 0
            local price = debt == 2 and 0 or cost
            if cost > (debt == 2 and most or depth) then
              wait = NEVER
            elseif cost > 0 then
              local over, over_part = whole + price - depth, part - depth_part
              if debt == 1 and whole >= burst and cost <= depth - burst then
                -- A bucket in debt denies until a token is there.
                over, over_part = whole - burst, part + 1
              end
              if over_part < 0 then over, over_part = over - 1, over_part + period end
              if over > 0 or over == 0 and over_part > 0 then
                wait = span(rate, period, over, over_part) + behind
              elseif pacer == 1 and whole + price >= burst then
                delay = span(rate, period, whole + price - burst, part)
              end
            end
          end
          if kind == PEEK then
            do -- resume
              pacer, debt, own_rate, own_period, burst, depth, depth_part = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7]
              rate, period, whole, part, clock, behind, most = suspended[8], suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14]
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
      remaining, reset = burst - whole, 0
      if part > 0 then remaining = remaining - 1 end
      if remaining < 0 then remaining = 0 end
      if whole > 0 or part > 0 then
        reset = span(rate, period, whole, part) + behind
      end
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
      if shifted then
        value, ttl = shifted, shifted_ttl
      else
        value, ttl = pack('>Bi8I7I7I4I7', FORMAT, clock, whole, part, rate, period), reset
      end
      do -- write_state
        if ttl > 0 then
          local list, filled, longest = { field, value }, 2, ttl
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
        else
          do -- delete_field
            local answer = call('HDEL', key, field)
            if type(answer) == 'table' then err = answer.err end
          end
        end
      end
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
