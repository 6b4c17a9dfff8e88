package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	for _, c := range []struct {
		args      []string
		out, fail string
	}{
		{nil, "lookup_bucket\n", ""},
		{[]string{"lookup_bucket"}, "-- lookup_bucket: prelude.lua, ", ""},
		{[]string{"lookup"}, "", `"lookup" is no script; accepted: one of`},
		{[]string{"lookup_bucket", "lookup_log"}, "", `"lookup_bucket lookup_log" is no script`},
	} {
		var out strings.Builder
		err := run(c.args, &out)
		if !strings.Contains(out.String(), c.out) || (err == nil) != (c.fail == "") || err != nil && !strings.HasPrefix(err.Error(), c.fail) {
			t.Errorf("%q: %v, %.200s", c.args, err, out.String())
		}
	}
}
