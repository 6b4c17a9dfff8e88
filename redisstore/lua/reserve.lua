-- Reserve and settle: engine/algo/reserve.go. As in several.lua all limits are settled
-- first. Then a reserve finds the wait of each, and charges all or none. A settle gives
-- back what was not used of a reservation, or charges more, limit by limit. Before that
-- it writes the reservation's key, which lasts until the reservation ends.
local RESERVE = 10
local out, recompute_keys = { pack('>i8', now) }, nil
local accepts -- the longest delay that the caller accepts
local delays -- all limits can delay their caller
local slot, held_ends -- what the reservation holds of the limit
local dropped -- the most units that a settlement could not charge

for j = 1, count do
  arg = ARGV[j]
  local limits, steps, allowed, never, failed, mark, settles_until = byte(arg, 2), {}, 1, false, nil, nil, nil
  kind, at, wrote, dropped = byte(arg), 3, false, 0
  if kind == RESERVE then
    delays, at = byte(arg, 3) == 1, 4
  else
    k = k + 1
    mark = KEYS[k]
    settles_until, at = unpack('>i8', arg, 3)
    local settled = call('GET', mark)
    if type(settled) == 'table' then failed = settled.err end
    if settled or now >= settles_until then allowed = 0 end
  end
  for i = 1, limits do
    k, algorithm, at = k + 1, byte(arg, at), at + 1
    key, count_denied, delay, err, prior, shifted = KEYS[k], 0, 0, nil, nil, nil
    --@field
    --@args
    --@settle
    --@holder
    if recompute_keys and recompute_keys[key] then err = 'RECOMPUTE' end
    failed = failed or err
    local s = {}
    if kind == RESERVE then
      s.accepts, at = unpack('>i8', arg, at)
    else
      s.units, s.taken, s.slot, s.ends, at = unpack('>I7i8i8i8', arg, at)
    end
    --@suspend
    s.algorithm, s.key, s.field, s.cost, s.count_denied, s.absent = algorithm, key, field, cost, count_denied, absent
    s.shifted, s.shifted_ttl, s.suspended, s.wait, s.delay, s.window = shifted or false, shifted_ttl, suspended, 0, 0, 0
    steps[i] = s
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
    if kind ~= RESERVE then
      units, taken, slot, held_ends = s.units - cost, s.taken, s.slot, s.ends
      if allowed == 1 and units < 0 then
        --@spare
        units = -units
        if room < units then
          if units - room > dropped then dropped = units - room end
          units = room
        end
        if units > 0 then
          write = true
          --@charge
        end
      elseif allowed == 1 and units > 0 and not absent then
        write = true
        --@give_held
        --@resettle
      end
      if not write then shifted = nil end
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
    out[#out + 1] = pack('>BI7', allowed, dropped)
    for i = 1, limits do out[#out + 1] = steps[i].answer end
  end
end
return table.concat(out)
