package daemon

// maxCut is how many bytes of a key are shown at most, if not all of it.
const maxCut = 8

// shownKey returns how lines of the log about requests, and spans, show a key.
func (c *Config) shownKey() func(key string) string {
	if c.LogKeys {
		return func(key string) string { return key }
	}
	return cut
}

// cut returns the beginning of a key: at most half of it, because keys can be addresses of
// people.
func cut(key string) string { return key[:min(len(key)/2, maxCut)] + "…" }
