package filelimit_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/headgate/headgate/engine"
)

// headgateObserver returns an observer that appends a text for each decided operation: the namespace of its first
// charge, and whether it was allowed.
func headgateObserver(to *[]string) func(context.Context, *engine.Op, *engine.Answer) {
	return func(_ context.Context, op *engine.Op, r *engine.Answer) {
		space, _ := op.Subject(0)
		*to = append(*to, strings.Clone(fmt.Sprint(space, " ", r.Allowed)))
	}
}
