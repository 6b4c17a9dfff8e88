-- Allows, peeks and gives of token buckets, pacers and fixed windows, and counts of fixed windows,
-- merged by key. For each limit there is an argument with the number of its keys and its parameters. If the limit's cost
-- is not 0, there is one allow of that cost for each key, and the limit has only fields that the parts fast support
-- (mergedFamily in families.go). Otherwise there is an argument with entries for each key:
-- whether any of them may charge, and then the kind, the cost and the number of equal consecutive operations. The answer
-- contains the previous state of each key. The client decides each operation on that state with the steps of package
-- algo (decode.go).
local GIVE, COUNT = 3, 9
local out, a = { pack('>i8', now) }, 0
local values, list, some, longest, fresh -- for the states that are read or written together
if #KEYS > 1 then
  values = call('MGET', unpack_list(KEYS))
  if values.err then values = nil end
end

while a < count do
  local same_cost, keys
  a = a + 1
  arg, count_denied, taken = ARGV[a], 0, -WORD
  algorithm, keys, at = unpack('>BI2', arg)
  --@args
  same_cost = cost -- if not 0, there is one allow of this cost for each key; otherwise there are entries
  --@fast_limit
  --@open_limit
  for _ = 1, keys do
    local entries, length, times, passed = nil, 2, 1, nil
    write, err = false, nil
    k = k + 1
    key, prior = KEYS[k], values and values[k]
    if not values then prior = call('GET', key) end
    if same_cost == 0 then
      a = a + 1
      entries = ARGV[a]
      cost, length = byte(entries), #entries
    else
      cost = same_cost
    end
    local decided, keeps, before, read_error = false, false, prior or '\0', nil
    if same_cost > 0 then -- nearly all operations end here
      --@fast
      if value then
        --@write_fast
      elseif not prior then
        decided = false
      end
    end
    if not decided then
      local may_charge = cost > 0
      --@settle
      before, read_error = prior or '\0', err
      --@before
      for place = 2, read_error and 0 or length, 12 do
        if entries then kind, cost, times = unpack('>BI7I4', entries, place) end
        if entries and kind == GIVE then
          units = cost
          if not absent then
            write = true
            --@give
            --@resettle
          end
        elseif entries and kind == COUNT then
          units, write, absent = cost * times, true, false
          --@count
        else
          local alone
          repeat -- the first allow with another rate is decided alone
            alone = false
            --@room
            passed = times
            if cost * times > room then passed = (room - room % cost) / cost end
            --@limit_passed
            if passed > 0 then
              units, write, absent = cost * passed, true, false
              --@charge
            end
            times = times - passed
          until not alone
          if times > 0 and count_denied == 1 then
            --@penalize_merged
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
        --@report
        --@store
      end
    end
    if err then
      err = string.sub(err, 1, 255)
      before = pack('>BB', read_error and 254 or 255, #err) .. err .. (read_error and '' or before)
    end
    out[k + 1] = before
  end
  --@close_limit
end
return table.concat(out)
