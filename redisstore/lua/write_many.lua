-- Tries the command with which merged scripts write many keys. The reply is an error if the server does not have it, or
-- if the user may not call it.
return redis.call('MSETEX', 1, KEYS[1], 'x', 'PX', '1000')
