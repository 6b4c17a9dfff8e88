package engine

import (
	"testing"
)

func TestPromiseString(t *testing.T) {
	for want, p := range map[string]Promise{
		"exact":                        {},
		"leased, at most 5 units over": {Mode: Leased, OvershootMax: 5},
		"fallback, without a bound":    {Mode: Fallback, OvershootMax: Unbounded},
	} {
		if p.String() != want {
			t.Errorf("%q, want %q", p.String(), want)
		}
	}
}
