package core_test

import (
	"testing"

	"github.com/headgate/headgate/core"
)

// One credential in an Authorization header has one spelling (regression: bug 217).
func TestAuthorization(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "Key": "Key", " Key ": "Key", "ApiKey a,b": "apikey a,b", "Digest a=b, c=d": "digest a=b, c=d",
		"Bearer Real": "bearer Real", "bEARER \t Real ": "bearer Real",
		"Basic YTpi": "basic YTpi", "basic  YTpi": "basic YTpi", "Basic YTpiYw==": "basic YTpiYw", "Basic YTpiYw": "basic YTpiYw", "Basic YTpiYx==": "basic YTpiYw",
		"Basic Pz8_": "basic Pz8/", "Basic Pz8/=": "basic Pz8/", "Basic !": "basic !",
	} {
		if text, readable := core.Authorization(header); text != want || !readable {
			t.Errorf("%q: %q, %t, want %q", header, text, readable, want)
		}
	}
	for _, header := range []string{"Bearer a b", "Bearer a,b", "Basic YTpi x", "basic YTpi,"} {
		if text, readable := core.Authorization(header); readable {
			t.Errorf("%q is readable as %q", header, text)
		}
	}
	if n := testing.AllocsPerRun(100, func() { core.Credential("Bearer Real") }); n > 0 {
		t.Errorf("a token: %v allocations", n)
	}
}
