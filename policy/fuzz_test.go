package policy_test

import (
	"errors"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/headgate/headgate/policy"
)

// FuzzParse checks that each error in an invalid file has a position. The limits in a valid file must print as text
// that parses to the same limits, and for one request its route table must find the same route as a linear search.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("policies: {a: {all: [b]}, b: 1/s}"))
	for _, path := range []string{"testdata/bad/yaml.txt", "testdata/bad/policies.txt", "testdata/bad/routes.txt"} {
		for _, file := range txtar.Parse([]byte(readFile(f, path))).Files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := policy.Parse("f", data)
		if err != nil {
			checkPositions(t, data, err)
			return
		}
		for _, name := range c.Policies.Names() {
			p, _ := c.Policies.Get(name)
			for _, text := range p.Limits() {
				spec := policy.LimitSpec{Text: text}
				if limit, err := spec.Build(); err != nil || limit.String() != text {
					t.Fatalf("limit %q reads back as %q, %v", text, limit, err)
				}
			}
			unchangedByNothing(t, c, p)
		}
		r := requestOf(t, "POST http://api.example.com/v1/users/7?v=2 --header X-Plan:free --client 203.0.113.7")
		m, ok := c.Routes.Find(&r)
		if e := c.Routes.Explain(&r, 3); ok != (e.Match != nil) || ok && e.Match.Index != m.Index {
			t.Fatalf("route %d (%t), explained as %+v", m.Index, ok, e.Match)
		}
	})
}

// unchangedByNothing checks that an override with no fields sets the same limit as its policy, however the policy is
// written.
func unchangedByNothing(t *testing.T, c *policy.Config, p *policy.Policy) {
	t.Helper()
	changed, left := c.With([]policy.Change{{Policy: p.Name, Key: "set", Fields: `{"set":{}}`}})
	if len(left) > 0 { // a policy with "all", or one with the maximum number of patterns
		return
	}
	same, _ := changed.Policies.Get(p.Name)
	for _, o := range same.Summary().Overrides {
		if o.Key == "set" && o.Limit != p.Limits()[0] {
			t.Fatalf("%s: an override without fields has %q", p.Limits()[0], o.Limit)
		}
	}
}

// checkPositions checks that each error is reported with a line and a column.
func checkPositions(t *testing.T, data []byte, err error) {
	t.Helper()
	var all policy.Errors
	if !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("%q: error without a place: %v", data, err)
	}
	for _, e := range all {
		if e.Line < 1 || e.Column < 1 || e.Message == "" {
			t.Fatalf("%q: error without a place: %+v", data, e)
		}
	}
}
