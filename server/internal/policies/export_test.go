package policies

import "github.com/headgate/headgate/engine"

// NewBounded is like NewShared, with a smaller limit than MaxChanges.
func NewBounded(values engine.Coordinator, most int) Store {
	return &shared{values: values, most: most, changes: map[string]stored{}}
}
