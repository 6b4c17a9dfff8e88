-- keys_merge.lua for servers with MSETEX (Redis 8.4, Valkey 9.1), which writes many keys that end together. The states of a limit
-- that had a key before are written together at its end, in lists by class. The class of a state is an exponent: its key ends
-- after 2^class µs, up to 4 times as late as the state, which says itself when it ends.

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
  local life = format('%d', 2 ^ class / 1000 + 1 + pad) -- not ttl_text, which later writes may use again
  some[n + 1], some[n + 2] = 'PX', life
  local answer = n > 2 and call('MSETEX', n / 2, unpack_list(some)) or {}
  -- One key, a node of a Cluster without MSETEX, no right to it, or an error that SET has too.
  for i = 1, type(answer) == 'table' and n or 0, 2 do
    answer = call('SET', some[i], some[i + 1], 'PX', life)
    if answer.err then
      local text, place = string.sub(answer.err, 1, 255), some.at[(i + 1) / 2]
      out[place] = pack('>BB', 255, #text) .. text .. out[place]
    end
  end
end
