-- Returns a holder's permit for each limit, as stored: its expiry, and its units with the lease time. If there is no
-- permit, both are empty. KEYS are the same as in permits.lua, two for each limit. ARGV contains the holder for each
-- limit.
local found = {}
for i = 1, #KEYS, 2 do
  local id = ARGV[(i + 1) / 2]
  local expires = redis.call('ZSCORE', KEYS[i], id)
  local units = redis.call('HGET', KEYS[i + 1], id)
  local live = expires and units and tonumber(expires) > now
  found[i], found[i + 1] = live and expires or '', live and units or ''
end
return found
