-- Shared by token buckets, pacers, warm-ups, fair shares, fair pacers and adaptive rates.

--- functions

-- span returns the refill time of an amount, rounded up.
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

--- refill
-- Refills a bucket for the time elapsed since clock, in µs.
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

--- returns
-- For a settlement, the key after the state's key holds the record of returned units: engine/algo/returns.go.
if kind ~= RESERVE then
  k = k + 1
  local record = found and found[k - first]
  if k - first > byte(arg, 2) then record = call('GET', KEYS[k]) end
  if record and (type(record) ~= 'string' or byte(record) ~= FORMAT or #record % 54 ~= 8) then
    err, record = err or state_error(record), nil
  end
  returns = { key = KEYS[k], record = record or '' }
end

--- read_returns
-- Reads the record as of moment into all. before is the amount that earlier charges have given back since the
-- reservation was charged. waited is the amount that was given back since then while callers waited that may still be
-- waiting.
local record = returns.record
local parts = record ~= '' and unpack('>I7', record, 2)
for i = 9, #record, 54 do
  local from, place, last, ends, waits, q, r = unpack('>i8i8i8i8i8I7I7', record, i)
  if ends > moment then
    if parts ~= period then
      local rest
      r, rest = muldiv(r, period, parts)
      if rest > 0 then r = r + 1 end
      if r >= period then q, r = q + 1, r - period end
    end
    all[#all + 1] = { from, place, last, ends, waits, q, r }
    local later = from < taken or from == taken and place < held_ends
    if later and (taken < last or taken == last and (place == -WORD or held_ends <= ends)) then
      before, before_part = before + q, before_part + r
      if before_part >= period then before, before_part = before + 1, before_part - period end
    end
    if taken <= last and moment < waits then
      waited, waited_part = waited + q, waited_part + r
      if waited_part >= period then waited, waited_part = waited + 1, waited_part - period end
    end
  end
end

--- write_returns
-- Adds to the record a return of the units in back and back_part. If ordered is not set, charges of one instant may
-- have the same end. The end then does not show which of them came first, so the place of the return is -WORD.
local one = { taken, ordered and held_ends or -WORD, moment, ends, waits, back, back_part }
for i = 1, #all do
  local other = all[i]
  if other[3] == moment and other[4] > one[4] then one[4] = other[4] end
  if other[1] <= taken and taken <= other[3] and (taken == other[3] or other[2] == -WORD) then one[2] = -WORD end
end
all[#all + 1] = one
if #all > 16 then
  -- Merge the two returns that are closest in time.
  local closest = 1
  for i = 2, #all - 1 do
    if all[i + 1][3] - all[i][3] < all[closest + 1][3] - all[closest][3] then closest = i end
  end
  local a, b = all[closest], table.remove(all, closest + 1)
  a[1], a[2] = math.min(a[1], b[1]), -WORD
  for i = 3, 5 do a[i] = math.max(a[i], b[i]) end
  a[6], a[7] = a[6] + b[6], a[7] + b[7]
  if a[7] >= period then a[6], a[7] = a[6] + 1, a[7] - period end
  a[6] = math.min(a[6], WORD - 1)
end
returns.ends = now
local list = { pack('>BI7', FORMAT, period) }
for i = 1, #all do
  list[i + 1] = pack('>i8i8i8i8i8I7I7', unpack_list(all[i]))
  returns.ends = math.max(returns.ends, all[i][4])
end
returns.value = table.concat(list)

--- waiting
-- A later caller continues at its slot, and its own units must be available at that time. Therefore back is lowered to
-- the amount that can be given back while callers may still wait. If only a part is given back before the slot, the
-- reservation's own caller still waits for the rest.
local over, over_part = whole + waited - burst, part + waited_part
if over_part >= period then over, over_part = over + 1, over_part - period end
local waiting = over > 0 or over == 0 and over_part > 0
local stands = debt ~= 2 and units < reserved and moment < slot
if stands or (after > 0 or after_part > 0) and waiting then
  waits = waiting and moment + span(rate, period, over, over_part) or moment
  if stands then after, waits = after + reserved - units, math.max(waits, slot) end
  local free, free_part = burst - after, -after_part
  if debt == 2 then
    free, free_part = 0, 0
  elseif debt == 1 then
    -- A caller continues up to 1 µs after the bucket is out of debt.
    free, free_part = depth - after, -after_part
    local rest = rate % period
    local full, full_part = burst - (rate - rest) / period, -rest
    if full < free or full == free and full_part < free_part then free, free_part = full, full_part end
  end
  if free_part < 0 then free, free_part = free - 1, free_part + period end
  if free < 0 then free, free_part = 0, 0 end
  free, free_part = free - waited, free_part - waited_part
  if free_part < 0 then free, free_part = free - 1, free_part + period end
  if free < 0 then free, free_part = 0, 0 end
  if free < back or free == back and free_part < back_part then back, back_part = free, free_part end
end

--- give_back
-- Gives units of a reservation back to a bucket. The charge refills within left µs, counted from moment; at most the
-- part that has not refilled (back) is given back. same_rate is set if the bucket still has the reservation's rate,
-- own_rate. give is a function that is created where it is needed, because a script can have at most 200 locals.
local give = function()
  local all, before, before_part, waited, waited_part, waits = {}, 0, 0, 0, 0, -WORD
  --@read_returns
  local back, back_part = muldiv(held_ends - taken, own_rate, own_period)
  if not same_rate then back_part = muldiv(back_part, period, own_period) end
  local refilled, refilled_part = muldiv(math.max(0, moment - taken), rate, period)
  back, back_part = back - refilled - before, back_part - refilled_part - before_part
  while back_part < 0 do back, back_part = back - 1, back_part + period end
  if back < 0 then back, back_part = 0, 0 end
  if back >= units then back, back_part = units, 0 end
  if whole < back or whole == back and part < back_part then back, back_part = whole, part end
  -- The missing amount charged after the reservation, in whole µs, rounded up.
  local after, after_part = whole, part
  if same_rate then
    local later = span(rate, period, whole, part) - left
    local q, r = muldiv(math.abs(later), rate, period)
    if later < 0 then q, r = -q, -r end
    after, after_part = before + q, before_part + r
    if after_part < 0 then after, after_part = after - 1, after_part + period end
    if after < 0 then
      after, after_part = 0, 0
    elseif after > 0 or after_part > 0 then
      r = after_part + rate - 1
      after_part = r % period
      after = after + (r - after_part) / period
    end
  end
  --@free
  if back > 0 or back_part > 0 then
    local ordered, ends = same_rate and rate <= period, moment + span(rate, period, whole, part)
    --@ends
    if not ordered or after > 0 or after_part > 0 then
      --@write_returns
    end
    whole, part = whole - back, part - back_part
    if part < 0 then whole, part = whole - 1, part + period end
    if whole < 0 then whole, part = 0, 0 end
  end
end
give()
