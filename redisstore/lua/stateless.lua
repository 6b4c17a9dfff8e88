-- Deny-all and unlimited limits, which keep no state.

--- locals
local denies

--- settle
denies, cost, at = unpack('>BI7', arg, at)
absent = true

--- wait
wait = denies == 1 and cost > 0 and NEVER or 0

--- room
room = denies == 1 and 0 or NEVER

--- charge

--- give

--- penalize

--- report
remaining, reset = 0, 0

--- store

--- suspend
suspended = { denies }

--- resume
denies = suspended[1]

--- ttl
absent = true
