-- The layout in which each state has a key of its own.

--- get_state
prior = prior or call('GET', key)

--- write_state
--@write_key
