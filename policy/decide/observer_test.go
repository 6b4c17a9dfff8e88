package decide_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// headgateObserver appends the namespace and the answer of each decided operation.
func headgateObserver(to *[]string) func(context.Context, *engine.Op, *headgate.Result) {
	return func(_ context.Context, op *engine.Op, r *headgate.Result) {
		space, _ := op.Subject(0)
		*to = append(*to, strings.Clone(fmt.Sprint(space, " ", r.Decision.Allowed)))
	}
}
