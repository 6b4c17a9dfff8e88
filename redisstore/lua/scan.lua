-- A page of a node's keys: KEYS[1] says which node.
return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
