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

func TestCommandNamesAreChecked(t *testing.T) {
	for _, c := range []struct{ names, wantErr string }{
		{"ask tell", ""},
		{strings.Repeat("x", 64), ""},
		{strings.Repeat("x", 65), "cannot be the name"},
		{"Ask", `"Ask" cannot be the name`},
		{"a|b", `"a|b" cannot be the name`},
		{"ping", `"ping" is registered twice`},
		{"ask ask", `"ask" is registered twice`},
	} {
		var commands []resp.DecisionCommand
		for name := range strings.FieldsSeq(c.names) {
			commands = append(commands, resp.DecisionCommand{Spec: resp.Spec{Name: name, Arity: 1}})
		}
		_, err := resp.New(resp.Config{Decisions: commands, Decide: (&fakeDecider{}).decide})
		if accepted := err == nil; accepted != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
			t.Errorf("commands %q: %v, want %q", c.names, err, c.wantErr)
		}
	}
	if _, err := resp.New(resp.Config{Decisions: make([]resp.DecisionCommand, 1), Decide: (&fakeDecider{}).decide}); err == nil {
		t.Error("a command without a name was accepted")
	}
	if _, err := resp.New(resp.Config{Decisions: (&fakeDecider{}).decisions()}); err == nil || !strings.Contains(err.Error(), "Decide is nil") {
		t.Errorf("Decisions without Decide: %v", err)
	}
}
