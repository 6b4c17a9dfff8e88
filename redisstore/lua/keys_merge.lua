-- merge.lua and alone.lua for states with separate keys. All keys of a limit are one group.

--- open
if #KEYS > 1 then
  values = call('MGET', unpack_list(KEYS))
  if values.err then values = nil end
end

--- next_state
k = k + 1
key, prior = KEYS[k], values and values[k]
if not values then prior = call('GET', key) end

--- write_quick
--@write_one

--- write_one
if prior or not values then
  --@write_key
else
  -- MGET returns nothing for a key of another type. NX preserves such a key, so that it is read and reported as an
  -- error.
  --@ttl_text
  local answer = call('SET', key, value, 'PX', ttl_text, 'NX')
  decided = answer
  err = answer and answer.err or nil
end

--- alone_get
prior = call('GET', key)

--- alone_put
local answer = call('SET', key, value, 'PX', format('%d', ttl / 1000 + pad))
if answer.err then decided = false end
