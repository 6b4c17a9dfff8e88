package admin

import "github.com/headgate/headgate/server/internal/adminapi"

// Calls returns the methods and paths of the API.
func Calls() (patterns []string) {
	for _, e := range new(api).calls() {
		patterns = append(patterns, e.Pattern)
	}
	return append(patterns, "GET "+adminapi.EventsPath)
}
