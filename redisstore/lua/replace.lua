-- Sets a key to ARGV[2] if it has the text ARGV[1], which is empty if there is no key.
-- Returns whether it did.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
