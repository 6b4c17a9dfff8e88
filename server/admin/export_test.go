package admin

import (
	"maps"
	"slices"
)

// Calls returns the methods and paths of the API.
func Calls() (patterns []string) {
	a := new(api)
	for _, calls := range []map[string]call{a.reading(), a.administering()} {
		patterns = slices.AppendSeq(patterns, maps.Keys(calls))
	}
	return append(patterns, "GET "+eventsPath)
}
