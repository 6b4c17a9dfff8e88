-- Fixed window: algo/fixed.go. The units counted, and when the window ends. A
-- count of 0 is absence.

--- locals
local limit, opens, aligned, period, start, following, used, ends, _

--- read
prior = prior or call('GET', key)
absent = not prior
if not absent then
  if type(prior) == 'string' and #prior == 13 and byte(prior) <= FORMAT then
    _, used, ends = unpack('>BI4i8', prior)
  else
    absent, err = true, complain(prior)
  end
end

--- asks
counts, aligned, cost, limit, period, at = unpack('>BBI7I4I7', arg, at)
-- A calendar's window, and the end of the one after it.
if aligned == 2 then start, opens, following, at = unpack('>i8i8i8', arg, at) end

--- settle
if aligned == 0 then
  opens = now + period
elseif aligned == 1 then
  opens = now - now % period + period
elseif now < start or now >= opens then
  err = 'RECOMPUTE' -- the calendar is the caller's: he is told the time
end
used, ends, shifted = 0, 0, nil
--@read
if used > 0 then
  if ends <= now then
    used = 0
  elseif aligned < 2 and ends > now + 2 * period or aligned == 2 and ends > following then
    -- The clock was set back by more than the window: it moves to now's.
    ends = opens
    shifted, shifted_ttl = pack('>BI4i8', FORMAT, used, ends), ends - now
  end
end

--- probe
wait = 0
if cost > limit then
  wait = NEVER
elseif cost > 0 and used + cost > limit then
  wait = ends - now
end

--- room
room = limit - used
if room < 0 then room = 0 end

--- charge
if used == 0 then ends = opens end
used = used + units
-- Where the clock was set back it may be the window after now's own.
if ends > opens then after = (aligned == 2 and opens or ends - period) - now end
if after < 0 then after = 0 end

--- give
-- What was taken in another window has gone with it.
local gone = false
if taken ~= 0 and aligned == 0 then
  gone = taken < ends - period or taken >= ends
elseif taken ~= 0 and aligned == 1 then
  gone = taken - taken % period + period ~= ends
elseif taken ~= 0 and ends == opens then
  gone = taken < start or taken >= opens
elseif taken ~= 0 then
  gone = taken < opens or taken >= ends
end
if not gone then used = used - units end
if used < 0 then used = 0 end

--- penalize
local extra = limit - used
if extra > cost then extra = cost end
if extra > 0 then
  if used == 0 then ends = opens end
  used = used + extra
end

--- exceed
if cost <= limit then
  write = true
  --@penalize
end

--- finish
remaining, reset = limit - used, 0
if remaining < 0 then remaining = 0 end
if used > 0 then reset = ends - now end

--- store
if shifted then
  value, ttl = shifted, shifted_ttl
else
  value, ttl = pack('>BI4i8', FORMAT, used, ends), reset
end
--@keep

--- hold
held = { limit, opens, aligned, period, start or 0, following or 0, used, ends }

--- resume
limit, opens, aligned, period, start, following, used, ends = held[1], held[2], held[3], held[4], held[5], held[6], held[7], held[8]

--- lasts
--@read
if not absent then ttl = ends - now end
