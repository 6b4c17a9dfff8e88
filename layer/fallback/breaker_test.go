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

// refused is an error with a text that clients must not see.
type refused struct{ error }

func (refused) Public() string { return "the store could not decide: unsent" }

// Regression: bug 75. Clients get the class of the last failure, and not the store's address.
func TestUnsentOperationsHideTheAddress(t *testing.T) {
	for cause, want := range map[error]string{
		refused{errors.New("dial tcp 10.0.0.1:6379: refused")}: "the store could not decide: unsent",
		errors.New("dial tcp 10.0.0.1:6379: refused"):          engine.ErrStoreUnavailable.Error(),
	} {
		var b breaker
		b.cause.Store(&cause)
		if p, ok := b.unavailable().(interface{ Public() string }); !ok || p.Public() != want {
			t.Errorf("%v: %v, want %s", cause, p, want)
		}
	}
}
