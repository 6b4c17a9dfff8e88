package decide_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
)

// headgateObserver returns an observer that appends a text for each decided operation: the namespace of its first
// charge, and whether it was allowed.
func headgateObserver(to *[]string) func(context.Context, *engine.Op, *operate.Result) {
	return func(_ context.Context, op *engine.Op, r *operate.Result) {
		space, _ := op.Subject(0)
		*to = append(*to, strings.Clone(fmt.Sprint(space, " ", r.Decision.Allowed)))
	}
}
