-- Adaptive rate: engine/algo/adaptive.go. whole and part are the missing tokens of the bucket: whole tokens, and the
-- rest in units of 1/period token. rate is the rate in force. Rates and the period are in units of 1/1024. After
-- settle, clock is the instant of the decision. Other fragments share these locals, because a script can have at most
-- 200.

--- locals
local rate, period, burst, whole, part, clock, behind
local numbers -- start, min, max, step, longest (pause), failures; the report's numbers; the rest of the state

--- read
prior = prior or call('GET', key)
absent = not prior
if not absent then
  if type(prior) == 'string' and #prior == 84 and byte(prior) == FORMAT then
    _, clock, whole, part, rate, numbers.opened, numbers.good, numbers.bad, numbers.used, numbers.version, numbers.raised, numbers.paused, numbers.over =
      unpack('>Bi8I7I6I6i8I6I6I6I6i8i8i8', prior)
  else
    absent, err = true, state_error(prior)
  end
end

--- args
local reported
numbers = {}
cost, numbers.start, period, numbers.min, numbers.max, burst, numbers.step, numbers.longest, numbers.failures, reported, at =
  unpack('>I7I4I7I4I4I6I4I4BB', arg, at)
numbers.start, period, numbers.min, numbers.max = numbers.start * 1024, period * 1024, numbers.min * 1024, numbers.max * 1024
if reported == 1 then numbers.more_good, numbers.more_bad, numbers.pause, at = unpack('>I3I3I7', arg, at) end

--- set
-- Changes the rate to moved, within the limit's minimum and maximum.
if moved < numbers.min then moved = numbers.min elseif moved > numbers.max then moved = numbers.max end
if moved ~= rate then
  numbers.version = numbers.version + 1
  if moved > rate then numbers.raised = clock end
  rate = moved
end

--- step
-- moved is the rate after a step.
if numbers.bad * 100 > numbers.failures * (numbers.good + numbers.bad) then
  moved = rate - (rate + 7 - (rate + 7) % 8) / 8
else
  local q, r = muldiv(3 * rate, math.min(clock - numbers.opened, 64 * numbers.step), 4 * period)
  if r > 0 then q = q + 1 end
  if numbers.used >= q then moved = rate + (rate - rate % 64) / 64 end
end
--@set
numbers.opened, numbers.good, numbers.bad, numbers.used = clock, 0, 0, 0

--- rewind
-- The clock was set back a long way, so the state moves to now.
clock, behind = now, 0
numbers.opened, numbers.raised = math.min(numbers.opened, now), math.min(numbers.raised, now)
numbers.paused = math.min(numbers.paused, now + numbers.longest)

--- settle
whole, part, clock, behind, shifted = 0, 0, now, 0, nil
local changed -- whether the rate has changed
--@read
if absent or now >= numbers.over then
  rate, whole, part, clock = numbers.start, 0, 0, now
  numbers.opened, numbers.good, numbers.bad, numbers.used, numbers.version, numbers.raised, numbers.paused = now, 0, 0, 0, 0, 0, 0
else
  local elapsed, moved, version = now - clock, nil, numbers.version
  if elapsed >= 0 then
    --@refill
  elseif -elapsed > span(rate, period, burst, 0) and -elapsed > span(rate, period, whole, part) and -elapsed > numbers.step then
    --@rewind
    --@last
    --@encode
    shifted, shifted_ttl = value, ttl
  else
    behind = -elapsed
  end
  numbers.paused = math.min(numbers.paused, clock + numbers.longest)
  if numbers.paused <= clock then numbers.paused = 0 end
  moved = rate
  --@set
  if clock - numbers.opened >= numbers.step and numbers.good + numbers.bad >= 10 then
    --@step
  end
  changed = version ~= numbers.version
end
if numbers.pause then
  numbers.good = math.min(numbers.good + numbers.more_good, 1099511627776)
  numbers.bad = math.min(numbers.bad + numbers.more_bad, 1099511627776)
  local pause = math.min(numbers.pause, numbers.longest)
  if pause > 0 then numbers.paused = math.max(numbers.paused, clock + pause) end
  count_denied, changed = 2, true -- the state is written in any case
end
if changed then -- even a denial writes the new rate, because its wait is computed from it
  --@last
  --@encode
  shifted, shifted_ttl = value, ttl
end

--- wait
wait, delay = 0, 0
if cost > burst then
  wait = NEVER
elseif cost > 0 then
  local over = whole + cost - burst
  if over > 0 or over == 0 and part > 0 then wait = span(rate, period, over, part) end
  if numbers.paused - clock > wait then wait = numbers.paused - clock end
  if wait > 0 then wait = wait + behind end
end

--- room
room = burst - whole
if part > 0 then room = room - 1 end
if room < 0 or numbers.paused > clock then room = 0 end

--- spare
room = 2 * burst - whole
if part > 0 then room = room - 1 end
if room < 0 then room = 0 end

--- charge
whole, after = whole + units, behind
numbers.used = math.min(numbers.used + units, 281474976710655)

--- give
whole = whole - units
if whole < 0 then whole, part = 0, 0 end
numbers.used = math.max(0, numbers.used - units)

--- give_held
numbers.used = math.max(0, numbers.used - units)
local moment, left, same_rate, own_rate, own_period = clock, held_ends - clock, true, rate, period
if left > 0 and taken >= numbers.raised then
  --@give_back
end

--- resettle
-- Less is missing now. If the clock is farther behind than the refill takes, the state moves to now.
if behind > numbers.step and behind > span(rate, period, burst, 0) and behind > span(rate, period, whole, part) then
  --@rewind
end

--- report
--@room
remaining, reset = room, 0
if whole > 0 or part > 0 then reset = span(rate, period, whole, part) end
if numbers.paused - clock > reset then reset = numbers.paused - clock end
if reset > 0 then reset = reset + behind end

--- extra
value = value .. pack('>I6I6', rate, numbers.version)

--- last
-- ttl is the remaining lifetime of the state. It is 0 if the state is equivalent to no state.
ttl = 0
if whole + part + numbers.good + numbers.bad + numbers.used + numbers.version + numbers.paused > 0 then
  ttl = math.max(numbers.paused - clock, 600 * numbers.step)
  if whole > 0 or part > 0 then ttl = math.max(ttl, span(rate, period, whole, part)) end
  numbers.over = clock + ttl
  ttl = ttl + behind
end

--- encode
value = pack('>Bi8I7I6I6i8I6I6I6I6i8i8i8', FORMAT, clock, whole, part, rate, numbers.opened, numbers.good, numbers.bad, numbers.used, numbers.version, numbers.raised, numbers.paused, numbers.over or 0)

--- store
if shifted then
  value, ttl = shifted, shifted_ttl
else
  --@last
  --@encode
end
--@write_key

--- suspend
suspended = { rate, period, burst, whole, part, clock, behind, numbers }

--- resume
rate, period, burst, whole, part, clock, behind, numbers = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7], suspended[8]

--- ttl
numbers = {}
--@read
if not absent then ttl = numbers.over - now end
