package resp

import (
	"errors"
	"testing"

	"github.com/headgate/headgate/policy/decide"
)

// TestFailedCommandsLeaveNothing checks that the requests of a command with an invalid argument are cleared, because
// their keys are in the connection's buffer (regression: bug 126).
func TestFailedCommandsLeaveNothing(t *testing.T) {
	var p pendingDecisions
	p.add(&DecisionCommand{Parse: func(dst []decide.Request, _ [][]byte) ([]decide.Request, error) {
		return append(dst, decide.Request{Item: decide.Item{Key: "k"}}), errors.New("the second key is empty")
	}}, nil)
	if len(p.requests) != 0 || cap(p.requests) == 0 || p.requests[:1][0].Key != "" {
		t.Errorf("%+v", p.requests[:cap(p.requests)])
	}
}
