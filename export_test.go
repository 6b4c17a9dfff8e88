package headgate

// SetMaxWaiting sets how many callers may wait for one key, until restore is called.
func SetMaxWaiting(n int) (restore func()) {
	before := maxWaiting
	maxWaiting = n
	return func() { maxWaiting = before }
}
