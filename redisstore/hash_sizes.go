package redisstore

import (
	"context"
	"fmt"
)

// MaxFields is the number of fields above which [Store.Check] warns about a hash. When a hash with this many fields
// expires, the server is blocked for about 15 ms.
const MaxFields = 50_000

// sizeWarning returns a warning about the largest hash with more than MaxFields fields. On each node it scans at most
// as many keys as findOlderStates does. It ignores errors, because decisions will report them.
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
	size-- // the sweep's cursor is not a state
	if size <= MaxFields {
		return ""
	}
	return fmt.Sprintf("the hash %.80q has %d fields, more than %d: the server is blocked while it dies; "+
		"choose more hashes than %s, and move the states with headgate relayout", largest, size, MaxFields, s.hashes)
}
