package headgate

// SetMaxWaiting sets the maximum number of callers that may wait for one key. restore undoes the change.
func SetMaxWaiting(n int) (restore func()) {
	before := maxWaiting
	maxWaiting = n
	return func() { maxWaiting = before }
}
