-- keys_merge.lua for servers with MSETEX (Redis 8.4, Valkey 9.1), which writes many keys with the same expiry. After
-- all keys of a limit, the states that already existed are written together, in lists by class. The class of a state is
-- an exponent: its key expires after 2^class µs, which is up to 4 times as long as the state lasts. The state itself
-- contains its end.

--- open_group
list = {}

--- write_quick
if prior and values then
  local _, class = math.frexp(ttl)
  class = class + class % 2
  local some = list[class]
  if some then
    local n = #some
    some[n + 1], some[n + 2] = key, value
    some.at[n / 2 + 1] = answered + 1
  else
    list[class] = { key, value, at = { answered + 1 } }
  end
else
  --@write_one
end

--- close_group
for class, some in pairs(list) do
  local n = #some
  local life = format('%d', 2 ^ class / 1000 + 1 + pad) -- in its own local, because later writes may reuse ttl_text
  some[n + 1], some[n + 2] = 'PX', life
  local answer = n > 2 and call('MSETEX', n / 2, unpack_list(some)) or {}
  -- SET writes a single key. It also writes the keys if MSETEX fails: on a Cluster's node that lacks it, without the
  -- permission for it, or with an error that SET returns too.
  for i = 1, type(answer) == 'table' and n or 0, 2 do
    answer = call('SET', some[i], some[i + 1], 'PX', life)
    if answer.err then
      local text, place = string.sub(answer.err, 1, 255), some.at[(i + 1) / 2]
      out[place] = pack('>BB', 255, #text) .. text .. out[place]
    end
  end
end
