-- Generated from prelude.lua, common.lua, history.lua, log.lua, keys.lua, single.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
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

local grain, kept, gone, head, n -- grain, kept: see window.lua and log.lua
local instant, behind -- when the operation is decided, and how far now is before that
local spent -- the running total of all items; a give raises gone instead
local chunk, skip, base, have -- items base to base+have−1, at byte skip of chunk
local last_at, last_total -- the newest item, if it was added or changed
local new_items -- the other added items, before the newest one
local find_cache -- results of find, as long as no item moves; false: do not cache
local prefix, moved -- items head to moved−1, if a give has changed them
local window_args, window_at, window_count -- the limit's windows: argument, position, number

local longest

-- item returns the place and the running total of an item.
local function item(i)
  if last_at and i == n - 1 then return last_at, last_total end
  if i < moved then return unpack('>i8I7', prefix, 1 + 15 * (i - head)) end
  if new_items ~= '' and i >= n - 1 - #new_items / 15 then return unpack('>i8I7', new_items, #new_items + 1 - 15 * (n - 1 - i)) end
  if i < base or i >= base + have then
    base, skip = i > 32 and i - 32 or 0, 1
    chunk = call('GETRANGE', key, 24 + 15 * base, 1013 + 15 * base)
    have = (#chunk - #chunk % 15) / 15
  end
  return unpack('>i8I7', chunk, skip + 15 * (i - base))
end

-- newest_item returns the place, nil if there is no item, and the total of the newest
-- item.
local function newest_item()
  if n > head then return item(n - 1) end
  return nil, 0
end

-- find returns the first item whose place (column 1) or total (column 2) is not below
-- a bound, n if there is none. Several operations on one history look for the same
-- places, so these are cached.
local function find(bound, column)
  local low, high, known = head, n, find_cache and column == 1 and find_cache[bound]
  if known then return known end
  while low < high do
    local middle = (low + high - (low + high) % 2) / 2
    local at, total = item(middle)
    if column == 2 then at = total end
    if at >= bound then high = middle else low = middle + 1 end
  end
  if find_cache and column == 1 and low < n then find_cache[bound] = low end
  return low
end

-- before returns the running total of the items before item i.
local function before(i)
  if i <= head then return gone end
  local _, total = item(i - 1)
  return total > gone and total or gone
end

-- add charges units at a place, which is not before the newest item.
local function add(at, units)
  local total = spent + units
  if n == head or item(n - 1) ~= at then
    if n == head then
      new_items = ''
    elseif last_at then
      new_items = new_items .. pack('>i8I7', last_at, last_total)
    end
    n = n + 1
  elseif moved >= n then
    -- A give has changed this item, and now it changes again.
    moved = n - 1
    prefix = string.sub(prefix, 1, 15 * (moved - head))
  end
  last_at, last_total, spent = at, total, total
end

-- drop drops the items before a place.
local function drop(at)
  local i = find(at, 1)
  gone = before(i)
  if moved > head then prefix = string.sub(prefix, 1 + 15 * (i - head)) end
  head = i
  if head == n then gone, spent = 0, 0 end
end

-- empty drops all items.
local function empty()
  gone, head, n, last_at, prefix, moved, new_items, spent, kept = 0, 0, 0, nil, '', 0, '', 0, 0
  if find_cache then find_cache = {} end
end

-- pull moves the units of all items after a place to that place.
local function pull(at)
  local i = find(at + 1, 1)
  if i == n then return end
  local later = spent - before(i)
  find_cache = false
  spent, n, last_at = spent - later, i, nil
  add(at, later)
end

-- give_from removes units: the oldest ones from the place oldest on or, with a
-- handle (taken ~= 0), those of one place. The items before them stay, and their
-- totals rise by the units that are removed. To bound the time of a call, that is done
-- with 1000 items at most. If more items come before and they no longer count, they
-- are dropped, as by a charge. If they count, the oldest units are removed instead of
-- those of the handle, which never allows more.
local function give_from(oldest, units, place)
  local i = find(oldest, 1)
  if taken ~= 0 then
    if place < oldest then return end
    local exact = find(place, 1)
    if exact == n or item(exact) ~= place then return end
    local there = before(exact + 1) - before(exact)
    if units > there then units = there end
    if exact - head <= 1000 or exact == i then i = exact end
  end
  local from = before(i)
  if units > spent - from then units = spent - from end
  local j = find(from + units + 1, 2)
  local stale = {}
  if i - head <= 1000 then
    for p = head, i - 1 do
      local place, total = item(p)
      stale[#stale + 1] = pack('>i8I7', place, total + units)
    end
  else
    gone = from
  end
  local first = j - #stale
  for p = j, moved - 1 do -- items that a give before this one has changed
    stale[#stale + 1] = pack('>i8I7', item(p))
  end
  gone, head, prefix, moved = gone + units, first, table.concat(stale), first + #stale
  if j == n then last_at, new_items = nil, '' end
  if find_cache then find_cache = {} end
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
    count_denied, cost, longest, window_count, at = unpack('>BI7I7B', arg, at)
    window_args, window_at, at = arg, at, at + 11 * window_count
  end
  if not continued then
    shifted = nil
    do -- settle
      do -- load
        gone, head, n, last_at, prefix, moved, new_items = 0, 0, 0, nil, '', 0, ''
        base, have, skip, shifted, find_cache, kept, grain = 0, 0, 25, nil, false, 0, 0
        chunk = call('GETRANGE', key, 0, 1013)
        absent = chunk == ''
        if not absent then
          local whole = type(chunk) == 'string' and #chunk >= 24 and byte(chunk) <= FORMAT
          if whole then
            local length, _ = #chunk, nil
            if length == 1014 then length = call('STRLEN', key) end
            _, grain, kept, _, gone, head, n = unpack('>BI7I2BI7I3I3', chunk)
            whole = head <= n and 24 + 15 * n <= length and grain > 0
            have = (#chunk - 24 - (#chunk - 24) % 15) / 15
          end
          if not whole then
            absent, err, gone, head, n = true, state_error(chunk), 0, 0, 0
          end
        end
        spent = before(n)
      end
      do -- resettle
        -- The operation is decided at now, or at the last charge if now is before it.
        instant, behind = now, 0
        local newest, total = newest_item()
        if total > gone then
          local ahead = newest - kept * 1000 - now
          if ahead > grain and ahead > longest then
            pull(now + kept * 1000)
            shifted = true
          elseif ahead > 0 then
            instant, behind = now + ahead, ahead
          elseif newest <= now - grain then
            empty()
            grain = 0
          end
        else
          empty()
          grain = 0
        end
      end
    end
    unchanged = nil
  else
    do -- resettle
      -- The operation is decided at now, or at the last charge if now is before it.
      instant, behind = now, 0
      local newest, total = newest_item()
      if total > gone then
        local ahead = newest - kept * 1000 - now
        if ahead > grain and ahead > longest then
          pull(now + kept * 1000)
          shifted = true
        elseif ahead > 0 then
          instant, behind = now + ahead, ahead
        elseif newest <= now - grain then
          empty()
          grain = 0
        end
      else
        empty()
        grain = 0
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
          -- With a handle the units of one instant, without the oldest units that the limit's
          -- own windows count.
          local span = grain
          if taken == 0 and longest < grain then span = longest end
          give_from(instant - span + 1, units, taken)
        end
        do -- resettle
          -- The operation is decided at now, or at the last charge if now is before it.
          instant, behind = now, 0
          local newest, total = newest_item()
          if total > gone then
            local ahead = newest - kept * 1000 - now
            if ahead > grain and ahead > longest then
              pull(now + kept * 1000)
              shifted = true
            elseif ahead > 0 then
              instant, behind = now + ahead, ahead
            elseif newest <= now - grain then
              empty()
              grain = 0
            end
          else
            empty()
            grain = 0
          end
        end
      end
    else
      if kind == AT_MOST and cost > 0 then
        do -- room
          room = NEVER
          for w = 0, window_count - 1 do
            local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
            local left
            do -- window_room
              left = limit - spent + before(find(instant - (span < grain and span or grain) + 1, 1))
              if left < 0 then left = 0 end
            end
            if left < room then room = left end
          end
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
        wait, window = 0, 0
        if cost > 0 then
          for w = 0, window_count - 1 do
            local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
            local time = NEVER
            if cost <= limit then
              local over = spent - limit + cost
              time = 0
              if over > gone then
                if span > grain then span = grain end
                time = item(find(over, 2)) + span - instant
                if time > 0 then time = time + behind end
              end
            end
            if time > wait then wait, window = time, w end
          end
        end
      end
      if wait == 0 then
        units = cost
        if cost > 0 and kind ~= PEEK then
          write = true
          do -- charge
            do -- append
              -- Appends an entry `ahead` after now, but not before the newest entry. A log holds
              -- 100 000 units at most: the oldest are dropped.
              drop(instant - grain + 1)
              if longest > grain then grain = longest end
              local place, newest = instant + ahead * 1000, newest_item()
              if not newest or newest <= instant then kept = 0 end
              if ahead > kept then kept = ahead end
              if newest and newest > place then place = newest end
              add(place, units)
              after = place - now
              if spent - 100000 > gone then gone = spent - 100000 end
            end
          end
        end
      else
        allowed, delay = 0, 0
        if count_denied == 1 and cost > 0 and wait ~= NEVER then
          -- A peek answers the wait that counting would lead to, and counts nothing.
          if kind == PEEK then
            do -- suspend
              suspended = { count_denied, grain, kept, gone, head, n, last_at or false, last_total or 0, prefix, moved, new_items, window_args, window_at, window_count, longest, chunk, skip, base, have, spent, instant, behind }
            end
          end
          write = true
          do -- penalize
            units, ahead = cost, 0
            local most = spent - before(find(instant - grain + 1, 1))
            do -- append
              -- Appends an entry `ahead` after now, but not before the newest entry. A log holds
              -- 100 000 units at most: the oldest are dropped.
              drop(instant - grain + 1)
              if longest > grain then grain = longest end
              local place, newest = instant + ahead * 1000, newest_item()
              if not newest or newest <= instant then kept = 0 end
              if ahead > kept then kept = ahead end
              if newest and newest > place then place = newest end
              add(place, units)
              after = place - now
              if spent - 100000 > gone then gone = spent - 100000 end
            end
            -- A wait depends on no more than the newest units, as many as the largest window
            -- holds, or as there were before. Older units are dropped.
            for w = 0, window_count - 1 do
              local limit = unpack('>I4', window_args, window_at + 11 * w)
              if limit > most then most = limit end
            end
            if spent - most > gone then gone = spent - most end
          end
          after = 0
          do -- wait
            wait, window = 0, 0
            if cost > 0 then
              for w = 0, window_count - 1 do
                local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
                local time = NEVER
                if cost <= limit then
                  local over = spent - limit + cost
                  time = 0
                  if over > gone then
                    if span > grain then span = grain end
                    time = item(find(over, 2)) + span - instant
                    if time > 0 then time = time + behind end
                  end
                end
                if time > wait then wait, window = time, w end
              end
            end
          end
          if kind == PEEK then
            do -- resume
              count_denied, grain, kept, gone, head, n = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6]
              last_at, last_total, prefix, moved, new_items = suspended[7], suspended[8], suspended[9], suspended[10], suspended[11]
              window_args, window_at, window_count, longest = suspended[12], suspended[13], suspended[14], suspended[15]
              chunk, skip, base, have, spent, instant, behind = suspended[16], suspended[17], suspended[18], suspended[19], suspended[20], suspended[21], suspended[22]
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
      local newest, total = newest_item()
      local ends = 0
      if total > gone then ends = newest + (longest < grain and longest or grain) - instant + behind end
      if ends < 0 then ends = 0 end
      local denied_window = wait > 0 and window
      remaining, reset = nil, ends
      for w = 0, window_count - 1 do
        if not denied_window or denied_window == w then
          local limit, span = unpack('>I4I7', window_args, window_at + 11 * w)
          local left
          do -- window_room
            left = limit - spent + before(find(instant - (span < grain and span or grain) + 1, 1))
            if left < 0 then left = 0 end
          end
          if not remaining or left < remaining then remaining, window = left, w end
        end
      end
    end
    out[j + 1] = pack('>BI7I8I8I8I8I7B', allowed, granted, remaining, wait, reset, delay, after, window)
  end
  unchanged = not write and arg
  if write then unsaved = unsaved or j end
  continued = false
  if not err then
    do -- continues
      -- Does the next operation have the same key and limit? Then it continues on this
      -- history, which is written once, after the last of them.
      local last = window_at + 11 * window_count - 1
      continued = KEYS[k + 1] == key and string.sub(ARGV[j + 1], 11, last) == string.sub(arg, 11, last)
      if continued then find_cache = find_cache or {} end
    end
  end
  if unsaved and not continued and not err then
    do -- store
      local newest, total = newest_item()
      ttl = 0
      if total > gone then ttl = newest + grain - now end
      do -- save
        local answer
        if ttl <= 0 then
          answer = call('DEL', key)
        else
          local rest = ttl % 1000
          if rest > 0 then ttl = ttl + 1000 - rest end
          ttl = format('%.0f', ttl / 1000 + pad)
          local last = last_at and new_items .. pack('>i8I7', last_at, last_total) or ''
          local from, to = head + #prefix / 15, n - #last / 15
          if from > to then
            last, to = string.sub(last, 1 + 15 * (from - to)), from -- the others were dropped
          end
          if n - head <= 64 or head * 2 > n then
            local middle = ''
            if gone >= 4503599627370496 and prefix == '' then
              -- Totals start again from 0 long before they are too large to be exact.
              local items = {}
              for i = head, n - 1 do
                local at, total = item(i)
                if total > gone then items[#items + 1] = pack('>i8I7', at, total - gone) end
              end
              middle, last, gone, n = table.concat(items), '', 0, head + #items
            elseif from < to and from >= base and to <= base + have then
              middle = string.sub(chunk, skip + 15 * (from - base), skip + 15 * (to - base) - 1)
            elseif from < to then
              middle = call('GETRANGE', key, 24 + 15 * from, 23 + 15 * to)
            end
            answer = call('SET', key,
              pack('>BI7I2BI7I3I3', FORMAT, grain, kept, 0, gone, 0, n - head) .. prefix .. middle .. last, 'PX', ttl)
          else
            -- The expiry comes first, so that it is not too short if a later write fails.
            answer = call('PEXPIRE', key, ttl)
            if type(answer) ~= 'table' then
              answer = call('SETRANGE', key, 0, pack('>BI7I2BI7I3I3', FORMAT, grain, kept, 0, gone, head, n))
            end
            if prefix ~= '' then call('SETRANGE', key, 24 + 15 * head, prefix) end
            if last ~= '' then call('SETRANGE', key, 24 + 15 * to, last) end
          end
        end
        if type(answer) == 'table' then err = answer.err end
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
