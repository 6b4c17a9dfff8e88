-- Operations on several limits, all or nothing. First all limits are settled, then the wait for each is computed, and
-- then all are charged, or none. A limit's locals are suspended while another limit is processed.
local AT_MOST, PEEK, GIVE = 1, 2, 3
local out, recompute_keys = { pack('>i8', now) }, nil

for j = 1, count do
  arg, at = ARGV[j], 3
  local limits, steps, allowed, granted, failed, choice = byte(arg, 2), {}, 1, 0, nil, nil
  if limits > 128 then
    limits = limits - 128
    choice, at = string.sub(arg, at, at + limits - 1), at + limits
  end
  kind, wrote, longest_wait = byte(arg), false, 0
  if kind >= 128 then -- another slot has denied the request, so limits that count denials count it
    kind, allowed = kind - 128, 0
    longest_wait, at = unpack('>I7', arg, at)
  end
  local least = NEVER
  for i = 1, limits do
    k, algorithm, at = k + 1, byte(arg, at), at + 1
    key, count_denied, delay, write, err, prior, shifted = KEYS[k], 0, 0, false, nil, nil, nil
    --@args
    --@settle
    if recompute_keys and recompute_keys[key] then err = 'RECOMPUTE' end
    failed = failed or err
    if kind == AT_MOST and cost > 0 and not failed then
      --@room
      if room > cost then room = cost end
      if room < least then least = room end
    end
    if kind == GIVE then taken, at = unpack('>i8', arg, at) end
    --@suspend
    steps[i] = { algorithm, key, cost, count_denied, absent, shifted or false, suspended, 0, 0, 0, taken, shifted_ttl }
  end
  if kind == AT_MOST and least < NEVER then granted = least end

  for i = 1, failed and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, suspended, wait, delay, window = s[1], s[2], s[3], s[7], 0, 0, 0
    --@resume
    if kind == AT_MOST and cost > 0 then
      cost = granted > 0 and granted or 1
      s[3] = cost
    end
    if kind ~= GIVE then
      --@wait
    end
    if wait > 0 then allowed = 0 end
    if wait > longest_wait then longest_wait = wait end
    s[8], s[9], s[10] = wait, delay, window
  end
  --@choose

  for i = 1, failed and 0 or limits do
    local s = steps[i]
    algorithm, key, cost, count_denied, absent, shifted, suspended = s[1], s[2], s[3], s[4], s[5], s[6], s[7]
    wait, delay, window, taken, shifted_ttl, units, write, err, after = s[8], s[9], s[10], s[11], s[12], cost, false, nil, 0
    --@resume
    if kind == GIVE then
      write = cost > 0 and not absent
      if write then
        --@give
        --@resettle
      end
    elseif allowed == 1 then
      if cost > 0 and kind ~= PEEK then
        write = true
        --@charge
      end
    else
      local settled = suspended
      if count_denied == 1 and cost > 0 and longest_wait < NEVER then
        write = true
        --@penalize
        after = 0
        --@wait
      end
      delay = 0
      if kind == PEEK then
        suspended = settled
        --@resume
      end
    end
    if kind == PEEK then write = false end
    if write then
      shifted = nil
    elseif shifted and (cost > 0 or count_denied == 2) and kind < PEEK then
      write = true
    end
    --@report
    if write then
      --@store
    end
    failed = failed or err
    wrote = wrote or write and not err
    value = pack('>I8I8I8I8I7B', remaining, wait, reset, delay, after, window)
    --@extra
    s[8] = value
  end

  if failed == 'RECOMPUTE' then
    -- The operation is sent again. To keep the order, the later operations on its keys are sent again too.
    recompute_keys = recompute_keys or {}
    for i = 1, limits do recompute_keys[steps[i][2]] = true end
  end
  if failed then
    failed = string.sub(failed, 1, 255)
    out[#out + 1] = pack('>BB', wrote and 3 or 2, #failed) .. failed
  else
    out[#out + 1] = pack('>BI7', allowed, choice or granted)
    for i = 1, limits do out[#out + 1] = steps[i][8] end
  end
end
return table.concat(out)
