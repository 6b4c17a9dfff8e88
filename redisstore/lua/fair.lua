-- Fair shares and fair pacers: engine/algo/fair.go. whole and part are the missing tokens of the common bucket: whole
-- tokens, and the rest in units of 1/period token. depth is the burst and a fair pacer's queue. image is the stored
-- state: a header of 40 bytes, and then the list of keys, the most recently charged key first. An entry consists of 8
-- bytes with the key's hash and 4 bytes with its parts. packed is set while the header agrees with the locals. total is
-- the sum of all parts, including the parts of keys that have left the list.

--- locals
local rate, period, burst, depth, weight, own_key, image, packed, total
local whole, part, clock, behind, own, own_at
local numbers -- if there are groups, the parts of all keys of the request's group

--- read
prior = prior or call('GET', key)
absent = not prior
if not absent then
  if type(prior) == 'string' and #prior >= 40 and #prior % 12 == 4 and byte(prior) == FORMAT then
    _, clock, whole, part, rate, period, total = unpack('>Bi8I7I7I6I7I4', prior)
    image = prior
  else
    absent, err = true, state_error(prior)
  end
end

--- args
local own_rate, own_period
cost, own_rate, own_period, burst, depth, weight, own_key, at = unpack('>I7I6I7I6I6Bc8', arg, at)
depth = burst + depth
rate, period, numbers = own_rate, own_period, nil
if weight >= 128 then weight, numbers = weight - 128, 0 end

--- owner
-- own is the number of parts of the request's key, and own_at its position in image.
own, own_at = 0, string.find(image, own_key, 41, true)
while own_at and own_at % 12 ~= 5 do own_at = string.find(image, own_key, own_at + 1, true) end
if own_at then own = unpack('>I4', image, own_at + 8) end
if numbers then
  numbers = 0
  local group = string.sub(own_key, 1, 4)
  local i = string.find(image, group, 41, true)
  while i do
    local found = i % 12 == 5
    if found then numbers = numbers + unpack('>I4', image, i + 8) end
    i = string.find(image, group, found and i + 12 or i + 1, true)
  end
end

--- bound
-- The bound of the request's key. If there are groups, it is the bound of the key's group (i = 1) or of the key (i =
-- 2): parts·D/S + slope·D + price·cost ≤ slope·depth. If none is set, the bound does not apply to a single unit. Each
-- part that needs these locals declares them.
parts, slope, price, none = own, weight, weight + 1, own == 0
if i == 2 then
  parts, slope, price = (weight + 1) * own + 8 * numbers, 8 * weight, 9 * (weight + 1)
elseif numbers then
  parts, none = numbers, numbers == 0
end

--- level
-- level is the number of missing units, in 1/256ths of a unit, rounded up. Each part that includes this one declares
-- level itself, because a script can have at most 200 locals.
local q, r = muldiv(part, 256, period)
level = 256 * whole + q
if r > 0 then level = level + 1 end

--- settle
whole, part, clock, behind, shifted, image, packed, total = 0, 0, now, 0, nil, string.rep(' ', 40), false, 0
--@read
if not absent then
  local elapsed = now - clock
  if elapsed >= 0 then
    --@refill
  elseif -elapsed > span(rate, period, burst, 0) and -elapsed > span(rate, period, whole, part) then
    -- The clock was set back farther than a refill takes, so the state moves to now.
    clock = now
    --@encode
    shifted, shifted_ttl = value, span(rate, period, whole, part)
  else
    behind = -elapsed
  end
  if whole == 0 and part == 0 then image, total = string.rep(' ', 40), 0 end
end
--@owner

--- wait
wait, delay = 0, 0
if (numbers and 9 or 8) * cost * (weight + 1) > 8 * weight * depth then
  wait = NEVER
elseif cost > 0 then
  -- The largest missing amount with which the cost fits into the bucket and within the bounds.
  local most, most_part = depth - cost, 0
  for i = 1, numbers and 2 or 1 do
    local parts, slope, price, none
    --@bound
    if not none or cost > 1 then
      local of = parts > 0 and total or 1
      local fair, rest = muldiv(of, (slope * depth - price * cost) * 256 + 1, parts + slope * of)
      if rest == 0 then fair = fair - 1 end
      rest = fair % 256
      local fair_part = muldiv(rest, period, 256)
      fair = (fair - rest) / 256
      if fair < most or fair == most and fair_part < most_part then most, most_part = fair, fair_part end
    end
  end
  local over, over_part = whole - most, part - most_part
  if over_part < 0 then over, over_part = over - 1, over_part + period end
  if over > 0 or over == 0 and over_part > 0 then
    wait = span(rate, period, over, over_part) + behind
  elseif depth > burst and whole + cost >= burst then
    delay = span(rate, period, whole + cost - burst, part)
  end
end

--- room
local level
--@level
local free = 256 * depth - level
room = free > 0 and (free - free % 256) / 256 or 0
for i = 1, numbers and 2 or 1 do
  local parts, slope, price, none
  --@bound
  local most, of, least = slope * free, 256 * price, none and 1 or 0
  if parts > 0 then most = most - muldiv(parts, level, total) end
  most = (most - most % of) / of
  if most < least then most = least end
  if most < room then room = most end
end

--- spare
room = burst + depth - whole
if part > 0 then room = room - 1 end
if room < 0 then room = 0 end

--- shrink
-- Scales all parts down by the same factor, and drops keys whose parts become 0.
total = (total - total % 256) / 256
local kept = { string.rep(' ', 40) }
for i = 41, #image, 12 do
  local parts = unpack('>I4', image, i + 8)
  if parts >= 256 then kept[#kept + 1] = string.sub(image, i, i + 7) .. pack('>I4', (parts - parts % 256) / 256) end
end
image = table.concat(kept)

--- charge
local level
--@level
local more, shrunk = 1048576, false
if level == 0 then image, total, shrunk = string.rep(' ', 40), 0, true end
while total > 0 do
  local q, r = muldiv(256 * units, total, level)
  if r > 0 then q = q + 1 end
  if q < 4294967296 - total then
    more = q
    break
  end
  shrunk = true
  --@shrink
end
if shrunk then
  --@owner
end
own, total, whole, after = own + more, total + more, whole + units, behind
-- This is a single concatenation, because with many keys most of the time is spent on copying.
local head = pack('>Bi8I7I7I6I7I4c8I4', FORMAT, clock, whole, part, rate, period, total, own_key, own)
if own_at then
  image = head .. string.sub(image, 41, own_at - 1) .. string.sub(image, own_at + 12)
else
  image = head .. string.sub(image, 41, 3100)
end
own_at, packed = 41, true
if numbers then -- a key of the group may have left the list
  --@owner
end

--- returned
-- Reduces the key's parts by the returned units. level is the missing amount before. If nothing is missing, resettle
-- clears the list.
local before = level
packed = false
--@level
if own_at and level > 0 then
  local less = muldiv(before - level, total, before)
  if less > own then less = own end
  own, total = own - less, total - less
  image = string.sub(image, 1, own_at - 1) .. (own > 0 and own_key .. pack('>I4', own) or '') .. string.sub(image, own_at + 12)
  if own == 0 then own_at = nil end
end

--- give
local level
--@level
whole = whole - units
if whole < 0 then whole, part = 0, 0 end
--@returned

--- reserve
local late = 0
if depth > burst and cost > 0 and wait ~= NEVER and whole + cost >= burst then late = span(rate, period, whole + cost - burst, part) end
if late > accepts then
  wait, delay = math.max(wait, late - accepts + behind), late
  if cost > burst and span(rate, period, cost - burst, 0) > accepts then wait = NEVER end
end

--- free
if depth > burst then
  local debt = 0
  --@waiting
end

--- give_held
local moment, left, same_rate, own_rate, own_period = clock, held_ends - clock, true, rate, period
if left > 0 and (depth == burst or clock < slot) then
  local level
  --@level
  --@give_back
  --@returned
end

--- resettle
if whole == 0 and part == 0 then clock, behind, image, packed, total = now, 0, string.rep(' ', 40), false, 0 end
-- Less is missing now. If the clock is farther behind than the refill takes, the state moves to now.
if behind > 0 and behind > span(rate, period, burst, 0) and behind > span(rate, period, whole, part) then
  clock, behind, packed = now, 0, false
end
--@owner

--- report
--@room
remaining, reset = room, 0
if whole > 0 or part > 0 then reset = span(rate, period, whole, part) + behind end

--- encode
if not packed then
  image, packed = pack('>Bi8I7I7I6I7I4', FORMAT, clock, whole, part, rate, period, total) .. string.sub(image, 41), true
end
value = image

--- store
if shifted then
  value, ttl = shifted, shifted_ttl
else
  ttl = reset
  --@encode
end
--@write_key

--- suspend
suspended = { rate, period, burst, weight, own_key, image, packed, total, whole, part, clock, behind, own, own_at, numbers, depth }

--- resume
rate, period, burst, weight, own_key, image, packed, total = suspended[1], suspended[2], suspended[3], suspended[4], suspended[5], suspended[6], suspended[7], suspended[8]
whole, part, clock, behind, own, own_at, numbers = suspended[9], suspended[10], suspended[11], suspended[12], suspended[13], suspended[14], suspended[15]
depth = suspended[16]

--- continues
-- The next operation on the bucket uses the same state, which is written after the last of them.
continued = KEYS[k + 1] == key and string.sub(ARGV[j + 1], 10, 34) == string.sub(arg, 10, 34)

--- ttl
--@read
if not absent then ttl = span(rate, period, whole, part) + clock - now end
