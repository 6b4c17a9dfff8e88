package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// classified is an error that classifies itself.
type classified bool

func (classified) Error() string { return "classified" }

func (c classified) Away() bool { return bool(c) }

func TestAway(t *testing.T) {
	for err, want := range map[error]bool{
		nil:                      false,
		ErrStoreUnavailable:      true,
		context.DeadlineExceeded: true,
		fmt.Errorf("%w: %w", ErrOutcomeUnknown, ErrStoreUnavailable): true,
		// The caller has left, or nothing was sent.
		fmt.Errorf("%w: %w", ErrStoreUnavailable, context.Canceled): false,
		ErrClosed:                 false,
		&InputError{Field: "key"}: false,
		errors.New("other"):       false,
		fmt.Errorf("%w: %w", ErrStoreUnavailable, classified(false)): false, // such as a wrong password
		fmt.Errorf("%w: %w", errors.New("other"), classified(true)):  true,
	} {
		if got := Away(err); got != want {
			t.Errorf("%v: %t, want %t", err, got, want)
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("x", 127) + "éé"
	if got, want := Cut(long), strings.Repeat("x", 127)+"…"; got != want {
		t.Errorf("cut: %q", got)
	}
	if got := Quote(long); len(got) > 140 || got[:2] != `"x` {
		t.Errorf("quoted: %s", got)
	}
	if Cut("é") != "é" || Quote("é") != `"é"` {
		t.Error("a short text is cut")
	}
}
