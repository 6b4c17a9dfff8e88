-- Sets a key to ARGV[2] if its text is ARGV[1], where an absent key counts as empty. Returns 1 if it set the key, and 0
-- otherwise.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
