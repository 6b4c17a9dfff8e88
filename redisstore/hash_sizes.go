package redisstore

import (
	"context"
	"fmt"
)

// MaxFields is the number of fields above which [Store.Check] warns about a hash. The server is blocked while such a
// hash expires: some 15 ms for this many fields.
const MaxFields = 50_000

// sizeWarning warns about the largest hash with more than MaxFields fields. It scans at most as many keys of a node
// as findOlderStates. Errors give no warning, because decisions will report them.
func (s *Store) sizeWarning(ctx context.Context) string {
	if s.hashes == 0 || s.clock != nil {
		return ""
	}
	nodes, err := s.nodeKeys(ctx)
	if err != nil {
		return ""
	}
	largest, size := "", int64(0)
	for _, node := range nodes {
		err := s.scanKeys(ctx, node, "/*/#*", scanPage, maxScanned/scanPage, func(keys []Reply) (more bool, err error) {
			for _, k := range keys {
				if name, ok := s.parseKey(k.Text); !ok || !name.hashed {
					continue
				}
				if n, err := s.sendCommand(ctx, k.Text, "HLEN", k.Text); err == nil && n.Int > size {
					largest, size = k.Text, n.Int
				}
			}
			return true, nil
		})
		if err != nil {
			return ""
		}
	}
	size-- // the cursor of the sweep is not a state
	if size <= MaxFields {
		return ""
	}
	return fmt.Sprintf("the hash %.80q has %d fields, more than %d: the server is blocked while it dies; "+
		"choose more hashes than %s, and move the states with headgate relayout", largest, size, MaxFields, s.hashes)
}
