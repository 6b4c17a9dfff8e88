package fallback

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headgate/headgate/engine"
)

// TestUnsentOperationsNameTheCause checks that the error for an operation that was not sent contains the text of the
// last failure, and never says that the operation may have been charged.
func TestUnsentOperationsNameTheCause(t *testing.T) {
	away := engine.ErrStoreUnavailable.Error()
	for _, c := range []struct {
		cause error
		want  string
	}{
		{nil, away},
		{fmt.Errorf("%w: dial tcp: refused", engine.ErrStoreUnavailable), away + ": not sent, because calls fail: dial tcp: refused"},
		{engine.ErrOutcomeUnknown, away + ": not sent, because calls fail: " + engine.ErrOutcomeUnknown.Error()},
	} {
		var b breaker
		if c.cause != nil {
			b.cause.Store(&c.cause)
		}
		err := b.unavailable()
		if err.Error() != c.want || !errors.Is(err, engine.ErrStoreUnavailable) || errors.Is(err, engine.ErrOutcomeUnknown) {
			t.Errorf("%v: %v, want %s", c.cause, err, c.want)
		}
	}
}
