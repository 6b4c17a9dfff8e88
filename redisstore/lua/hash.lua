-- The layout for states of token buckets, pacers and fixed windows as fields of hashes. A field is
-- the subject, and its value is the state. The steps of an algorithm treat an expired state as
-- absent, so an expired field is never an error, only garbage.

--- field
field, at = unpack('>I2c0', arg, at)

--- get_state
prior = prior or call('HGET', key, field)

--- write_state
if ttl > 0 then
  local list, filled, longest = { field, value }, 2, ttl
  --@write_fields
else
  --@delete_field
end

--- delete_field
local answer = call('HDEL', key, field)
if type(answer) == 'table' then err = answer.err end

--- delete_state
answer = call('HDEL', key, field)
-- A key that is not a hash holds no state. A reset deletes it like any value that is not a state.
if type(answer) == 'table' and string.find(answer.err, 'WRONGTYPE', 1, true) then answer = call('DEL', key) end

--- write_fields
-- Writes the fields and values in list. The hash lives at least until the last of its states has expired. Its TTL is
-- longer than necessary, so that it seldom has to be set again. The write comes first, because a server whose memory is
-- full rejects only a script's first write.
local rest = longest % 1000
if rest > 0 then longest = longest + 1000 - rest end
local needed, left = longest / 1000 + pad, call('PTTL', key)
local added = type(left) == 'table' and left or call('HSET', key, unpack_list(list, 1, filled))
if type(added) == 'number' and left < needed then
  local answer = call('PEXPIRE', key, format('%d', needed + math.max(needed, 10000)))
  if type(answer) == 'table' then
    if left == -2 then call('DEL', key) end -- otherwise it would never expire
    added = answer
  end
end
if type(added) == 'table' then
  err = added.err
else
  --@sweep
end

--- sweep
-- Examines about 128 fields, starting where the last sweep ended, and deletes those that expired at
-- least two seconds ago. It keeps fields that expired later, because overwriting the field of a key that soon returns
-- is cheaper. The last digits of the time choose the writes that sweep: on average, three fields are examined for every
-- two new fields, and one for every ten writes if no field is new.
if now % 1376 <= added * 16 then
  local cursor = call('HGET', key, '') or '0'
  local page = call('HSCAN', key, cursor, 'COUNT', '128')
  local found, old, n, due = page[2] or {}, {}, 0, now - pad * 1000 - 2000000
  for i = 1, #found, 2 do
    local value, gone = found[i + 1], false
    --@expired
    if gone and n < 1000 then
      n = n + 1
      old[n] = found[i]
    end
  end
  if n > 0 then call('HDEL', key, unpack_list(old)) end
  if page[1] and page[1] ~= cursor then call('HSET', key, '', page[1]) end
end
