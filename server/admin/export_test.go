package admin

// Calls returns the methods and paths of the API.
func Calls() (patterns []string) {
	for pattern := range new(api).calls() {
		patterns = append(patterns, pattern)
	}
	return patterns
}
