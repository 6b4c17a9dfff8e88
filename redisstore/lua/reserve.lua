-- Reserve and settle: engine/algo/reserve.go. As in several.lua all limits are settled
-- first. Then a reserve finds the wait of each, and charges all or none. A settle gives
-- back what was not used of a reservation, or charges more, limit by limit. Before that
-- it writes the reservation's key, which lasts until the reservation ends.
--
-- A reservation with a term is kept instead, in a hash of all that are open, by its id: the end of its
-- term, the term, what it holds of each limit, and the body, which only clients read. A sorted set has the
-- ends of the terms. A settlement takes what is held from there; a report (stage 2) leaves it open. The hash
-- also has, by counter, how many units those with a ceiling can still charge.
local RESERVE = 10
local PLACE = { cost = 'cost', wait = 'wait', delay = 'delay', window = 'window' }
local out, recompute_keys = { pack('>i8', now) }, nil
local accepts -- the longest delay that the caller accepts
local delays -- all limits can delay their caller
local slot, held_ends -- what the reservation holds of the limit
local dropped -- the most units that a settlement could not charge
local REPORT, OVERDUE, UNDONE, HELD, CEILINGS = 2, 3, 4, '>I7i8i8i8I7', 128

for j = 1, count do
  arg = ARGV[j]
  local limits, steps, allowed, never, failed, mark, settles_until, choice = byte(arg, 2), {}, 1, false, nil, nil, nil, nil
  local stage, opened = 0, nil -- opened: the open reservation of an operation with a term
  kind, at, wrote, dropped = byte(arg), 3, false, 0
  if limits > 128 then
    limits = limits - 128
    choice, at = string.sub(arg, at, at + limits - 1), at + limits
  end
  if kind == RESERVE then
    local term
    delays, term, at = unpack('>BI7', arg, at)
    delays = delays == 1
    if term > 0 then
      opened = { key = KEYS[k + 1], due = KEYS[k + 2], term = term, held = {} }
      opened.id, opened.body, at = unpack('>Bc0I2c0', arg, at)
      local ends = at + 7 * byte(arg, at)
      opened.ceilings, at = string.sub(arg, at + 1, ends), ends + 1
      k = k + 2
      local all = call('ZCARD', opened.due)
      failed = type(all) == 'table' and all.err or all == 1000000 and 'FULL 1000000 reservations are open'
    end
  elseif byte(arg, 3) > 0 then
    opened = { key = KEYS[k + 1], due = KEYS[k + 2], held = {}, ceilings = '' }
    stage, opened.id, at = unpack('>BBc0', arg, 3)
    k = k + 2
    local state = call('HGET', opened.key, opened.id)
    if not state then
      allowed = 0
    elseif type(state) == 'table' then
      failed = state.err
    elseif byte(state) ~= FORMAT or byte(state, 17) % CEILINGS ~= limits or #state < 17 + 38 * limits then
      failed = state_error(state)
    else
      settles_until, opened.term = unpack('>i8I7', state, 2)
      for i = 1, limits do opened.held[i] = { unpack(HELD, state, 38 * i - 20) } end
      local rest = 18 + 38 * limits
      if byte(state, 17) >= CEILINGS then
        opened.ceilings = string.sub(state, rest, rest + 7 * limits - 1)
        rest = rest + 7 * limits
      end
      opened.body = string.sub(state, rest)
      if (now >= settles_until) ~= (stage == OVERDUE) then allowed = 0 end
    end
  else
    k, at = k + 1, 4
    mark = KEYS[k]
    settles_until, at = unpack('>i8', arg, at)
    local settled = call('GET', mark)
    if type(settled) == 'table' then failed = settled.err end
    if settled or now >= settles_until then allowed = 0 end
  end
  for i = 1, limits do
    k, algorithm, at = k + 1, byte(arg, at), at + 1
    key, field, count_denied, delay, err, prior, shifted = KEYS[k], nil, 0, 0, nil, nil, nil
    --@field
    --@args
    --@settle
    --@holder
    if recompute_keys and recompute_keys[key] then err = 'RECOMPUTE' end
    failed = failed or err
    local s = {}
    if kind == RESERVE then
      s.accepts, at = unpack('>i8', arg, at)
    elseif stage == 0 then
      s.units, s.taken, s.slot, s.ends, at = unpack('>I7i8i8i8', arg, at)
      s.reported = 0
    elseif opened.held[i] then
      s.units, s.taken, s.slot, s.ends, s.reported = unpack_list(opened.held[i])
    end
    --@suspend
    s.algorithm, s.key, s.field, s.cost, s.count_denied, s.absent = algorithm, key, field, cost, count_denied, absent
    s.shifted, s.shifted_ttl, s.suspended, s.wait, s.delay, s.window = shifted or false, shifted_ttl, suspended, 0, 0, 0
    steps[i] = s
    if opened and opened.ceilings and #opened.ceilings > 0 then
      s.ceiling = unpack('>I7', opened.ceilings, 7 * i - 6)
    end
    if s.ceiling and s.ceiling > 0 then
      s.counter = '\0' .. key .. (field and '\0' .. field or '')
      local pending = call('HGET', opened.key, s.counter)
      s.pending = tonumber(type(pending) == 'string' and pending or 0)
      failed = failed or type(pending) == 'table' and pending.err
      if kind == RESERVE and s.pending + s.ceiling > 9007199254740991 then
        failed = failed or 'FULL open reservations have ceilings of 9007199254740991 units'
      end
    end
  end

  for i = 1, (failed or kind ~= RESERVE) and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, suspended, wait, delay, window, accepts = s.algorithm, s.key, s.cost, s.suspended, 0, 0, 0, s.accepts
    --@resume
    --@wait
    --@reserve
    if wait > 0 then allowed = 0 end
    never = never or wait == NEVER
    s.wait, s.delay, s.window = wait, delay, window
  end
  --@choose
  if mark and allowed == 1 and not failed then
    local left = settles_until - now
    local rest = left % 1000
    if rest > 0 then left = left + 1000 - rest end
    local answer = call('SET', mark, pack('>B', FORMAT), 'PX', format('%.0f', left / 1000 + pad))
    wrote = not answer.err
    failed = answer.err
  end

  for i = 1, failed and 0 or limits do
    local s = steps[i]
    algorithm, key, field, cost, count_denied, absent, suspended = s.algorithm, s.key, s.field, s.cost, s.count_denied, s.absent, s.suspended
    shifted, shifted_ttl, wait, delay, window, write, err, after = s.shifted, s.shifted_ttl, s.wait, s.delay, s.window, false, nil, 0
    --@resume
    if kind ~= RESERVE and allowed == 1 then
      taken, slot, held_ends = s.taken, s.slot, s.ends
      if stage == UNDONE and slot < held_ends then slot = held_ends end
      local actual = math.max(cost, s.reported)
      units = actual - math.max(s.units, s.reported)
      if units > 0 then
        --@spare
        if room < units then
          if units - room > dropped then dropped = units - room end
          units = room
        end
        if units > 0 then
          write = true
          --@charge
        end
      elseif actual < s.units and stage ~= REPORT and not absent then
        units, write = s.units - actual, true
        --@give_held
        --@resettle
      end
      if stage == REPORT then opened.held[i] = pack(HELD, s.units, taken, slot, held_ends, actual) end
      s.used = math.max(s.units, actual)
      if not write then shifted = nil end
    elseif kind ~= RESERVE then
      shifted = nil
    elseif allowed == 1 then
      units = cost
      if cost > 0 then
        write = true
        --@charge
      end
    else
      if wait == 0 then delay = 0 end
      if count_denied == 1 and cost > 0 and not never then
        write = true
        --@penalize
        after = 0
        --@wait
        delay = 0
      end
    end
    if write then
      shifted = nil
    elseif shifted and cost > 0 then
      write = true
    end
    --@report
    if write then
      --@store
    end
    failed = failed or err
    wrote = wrote or write and not err
    s.answer = pack('>I8I8I8I8I7B', remaining, wait, reset, delay, after, window)
    if opened and kind == RESERVE then
      local taken = now + after
      opened.held[i] = pack(HELD, cost, taken, taken + delay, now + reset, 0)
    end
  end

  for i = 1, opened and allowed == 1 and not failed and limits or 0 do
    local s = steps[i]
    if s.counter then
      local before = kind == RESERVE and 0 or math.max(0, s.ceiling - math.max(s.units, s.reported))
      local after = kind == RESERVE and s.ceiling - s.cost or stage == REPORT and math.max(0, s.ceiling - s.used) or 0
      s.pending = math.max(0, s.pending + after - before)
      if s.pending == 0 then
        call('HDEL', opened.key, s.counter)
      else
        call('HSET', opened.key, s.counter, format('%.0f', s.pending))
      end
    end
  end
  if opened and allowed == 1 and not failed then
    local answer
    if kind == RESERVE or stage == REPORT then
      -- The keys last for a day after the last term.
      local ends, left = now + opened.term, (opened.term - opened.term % 1000) / 1000 + 86400000 + pad
      answer = call('HSET', opened.key, opened.id, pack('>Bi8I7B', FORMAT, ends, opened.term, limits + (#opened.ceilings > 0 and CEILINGS or 0))
        .. table.concat(opened.held) .. opened.ceilings .. opened.body)
      call('ZADD', opened.due, format('%.0f', ends), opened.id)
      if call('PTTL', opened.key) < left then
        call('PEXPIRE', opened.key, format('%.0f', left))
        call('PEXPIRE', opened.due, format('%.0f', left))
      end
    else
      answer = call('HDEL', opened.key, opened.id)
      call('ZREM', opened.due, opened.id)
    end
    if type(answer) == 'table' then failed = answer.err else wrote = true end
  end

  if failed == 'RECOMPUTE' then
    -- It is sent again, and so are the operations that follow on its keys, to keep
    -- their order.
    recompute_keys = recompute_keys or {}
    for i = 1, limits do recompute_keys[steps[i].key] = true end
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[#out + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    out[#out + 1] = pack('>BI7', allowed, choice or dropped)
    for i = 1, limits do out[#out + 1] = steps[i].answer end
    for i = 1, limits do
      if kind == RESERVE and allowed == 1 and steps[i].ceiling then out[#out + 1] = pack('>I7', steps[i].pending or 0) end
    end
  end
end
return table.concat(out)
