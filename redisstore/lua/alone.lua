-- Decides one allow on one key, the usual call of a single caller. The arguments and the answer are the same
-- as in merge.lua, whose text follows. Nearly all such operations end here. This code makes no functions,
-- because that would take as long as all the arithmetic. Rare cases continue in merge.lua: a state with
-- another rate or format, a clock that was set back, products beyond a word, and errors.
do
  local key, arg, decided, prior, value, ttl, keeps = KEYS[1], ARGV[1], false, nil, nil, nil, false
  prior = call('GET', key)
  --@alone
  if decided and value then
    local answer
    if keeps then
      answer = call('SETRANGE', key, '0', value)
    else
      answer = call('PSETEX', key, format('%d', math.max(2 * SHORT, ttl) / 1000 + 1 + pad), value)
    end
    if type(answer) == 'table' and answer.err then decided = false end
  end
  if decided then
    return pack('>i8', now) .. (prior or '\0')
  end
end
