-- Shared by token buckets, pacers, warm-ups and fair shares.

--- functions

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

--- refill
-- Refills a bucket for the time since clock, elapsed µs.
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

--- give_back
-- Gives units of a reservation back to a bucket, if its charge refills within left µs: no more than the part of the charge
-- that has not refilled (back), and no more than the part that does not wait in slots after the reservation (free).
-- same_rate is set if the bucket is under the reservation's rate, own_rate.
local back, back_part = muldiv(held_ends - taken, own_rate, own_period)
if not same_rate then back_part = muldiv(back_part, period, own_period) end
local refilled, refilled_part = muldiv(math.max(0, clock - taken), rate, period)
back, back_part = back - refilled, back_part - refilled_part
if back_part < 0 then back, back_part = back - 1, back_part + period end
if back < 0 then back, back_part = 0, 0 end
if back >= units then back, back_part = units, 0 end
local waiting, waiting_part = whole - burst, part
local later = same_rate and span(rate, period, whole, part) - left
if later and later <= 0 then
  waiting, waiting_part = 0, 0
elseif later then
  local q, r = muldiv(later, rate, period)
  r = r + rate - 1
  local rest = r % period
  q = q + (r - rest) / period
  if q < waiting or q == waiting and rest < waiting_part then waiting, waiting_part = q, rest end
end
local free, free_part = units - waiting, -waiting_part
if free_part < 0 then free, free_part = free - 1, free_part + period end
if free < 0 then free, free_part = 0, 0 end
if free < back or free == back and free_part < back_part then back, back_part = free, free_part end
whole, part = whole - back, part - back_part
if part < 0 then whole, part = whole - 1, part + period end
if whole < 0 then whole, part = 0, 0 end
