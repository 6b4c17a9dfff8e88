-- The layout with a separate key for each state.

--- get_state
prior = prior or call('GET', key)

--- write_state
--@write_key
