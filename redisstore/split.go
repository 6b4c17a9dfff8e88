package redisstore

import (
	"context"

	"github.com/headgate/headgate"
)

// split answers an operation whose limits are on several slots of a Cluster.
func (s *Store) split(_ context.Context, _ *headgate.Op, result *headgate.Result) {
	result.Err = s.fail(Other, "the request's limits are on several slots of the Cluster; give their keys one {hash tag}", nil)
}
