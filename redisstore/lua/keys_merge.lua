-- merge.lua and alone.lua where each state has a key of its own. All keys of a limit
-- are one group.

--- open
if #KEYS > 1 then
  values = call('MGET', unpack_list(KEYS))
  if values.err then values = nil end
end

--- next_state
k = k + 1
key, prior = KEYS[k], values and values[k]

--- alone_get
prior = call('GET', key)

--- alone_put
local answer = call('SET', key, value, 'PX', format('%d', ttl / 1000 + pad))
if answer.err then decided = false end
