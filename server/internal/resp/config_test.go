package resp_test

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/resp"
)

// TestConfigErrorsNameEveryField checks that one error names all invalid fields.
func TestConfigErrorsNameEveryField(t *testing.T) {
	_, err := resp.New(resp.Config{MaxConns: -1, IdleTimeout: -1, ReadTimeout: -1, WriteTimeout: -1})
	if err == nil {
		t.Fatal("negative numbers were accepted")
	}
	for _, name := range []string{"MaxConns is -1", "IdleTimeout is -1ns", "ReadTimeout is -1ns", "WriteTimeout is -1ns"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q is not in %q", name, err)
		}
	}
}

// TestDecisionsNeedDecide checks that commands without a function that decides are an error.
func TestDecisionsNeedDecide(t *testing.T) {
	if _, err := resp.New(resp.Config{Decisions: (&fakeDecider{}).decisions()}); err == nil || !strings.Contains(err.Error(), "Decide is nil") {
		t.Errorf("Decisions without Decide: %v", err)
	}
}
