package admin

import "github.com/headgate/headgate/internal/adminapi"

// Calls returns the methods and paths of the API.
func Calls() (patterns []string) {
	a := new(api)
	for _, e := range append(a.reading(), a.administering()...) {
		patterns = append(patterns, e.Method+" "+e.Path)
	}
	return append(patterns, "GET "+adminapi.EventsPath)
}
