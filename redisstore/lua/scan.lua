-- Returns a page of the keys on the node that serves KEYS[1].
return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
