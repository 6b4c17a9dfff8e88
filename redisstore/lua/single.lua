-- Operations on one limit each. An answer consists of a status byte, the units granted by "at most", and the outcome of
-- the limit: decode.go. Operations on one history or one fair share are adjacent, so its state is read once and written
-- once for all of them.
local AT_MOST, PEEK, GIVE = 1, 2, 3
local out, recompute_keys = { pack('>i8', now) }, nil
local continued = false -- whether this operation continues on the history of the previous one
local unsaved -- the first operation whose change is not yet written
local unchanged -- the argument of the previous operation, if it changed nothing

for j = 1, count do
  k, arg, at = k + 1, ARGV[j], 3
  key, kind, algorithm = KEYS[k], byte(arg, 1, 2)
  local allowed, granted = 1, 0
  count_denied, wait, delay, window, write, err, prior, ahead, after, longest_wait = 0, 0, 0, 0, false, nil, nil, 0, 0, 0
  --@args
  if not continued then
    shifted = nil
    --@settle
    unchanged = nil
  else
    --@resettle
  end
  if err == 'RECOMPUTE' or recompute_keys and recompute_keys[key] then
    -- The operation is sent again. To keep the order, the later operations on its key are sent again too.
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
        --@give
        --@resettle
      end
    else
      if kind == AT_MOST and cost > 0 then
        --@room
        local share
        share, ahead = unpack('>I2I2', arg, at)
        if share > 1 and room > 1 then
          room = (room - room % share) / share
          if room < 1 then room = 1 end
        end
        granted = room < cost and room or cost
        cost = granted > 0 and granted or 1
      end
      --@wait
      if wait == 0 then
        units = cost
        if cost > 0 and kind ~= PEEK then
          write = true
          --@charge
        end
      else
        allowed, delay = 0, 0
        if wait > longest_wait then longest_wait = wait end
        if count_denied == 1 and cost > 0 and longest_wait < NEVER then
          -- A peek returns the wait that counting would cause, but counts nothing.
          if kind == PEEK then
            --@suspend
          end
          write = true
          --@penalize
          after = 0
          --@wait
          if kind == PEEK then
            --@resume
          end
        end
      end
      if kind == PEEK then write = false end
    end
    if write then
      absent, shifted = false, nil
    elseif shifted and (cost > 0 or count_denied == 2) and kind < PEEK then
      write = true
    end
    --@report
    value = pack('>BI7I8I8I8I8I7B', allowed, granted, remaining, wait, reset, delay, after, window)
    --@extra
    out[j + 1] = value
  end
  unchanged = not write and arg
  if write then unsaved = unsaved or j end
  continued = false
  if not err then
    --@continues
  end
  if unsaved and not continued and not err then
    --@store
  end
  if err then
    err = string.sub(err, 1, 255)
    err = pack('>BB', 2, #err) .. err
    for i = unsaved or j, j do out[i + 1] = err end
  end
  if not continued then unsaved = nil end
end
return table.concat(out)
