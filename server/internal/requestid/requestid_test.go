package requestid_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/requestid"
)

// TestHandlerKeepsValidIDs checks that the context and the answer contain the client's id if it is valid. If it is not,
// they contain a new id, which is different for each request.
func TestHandlerKeepsValidIDs(t *testing.T) {
	made, seen := regexp.MustCompile(`^[A-Z2-7]{26}$`), map[string]bool{}
	for _, c := range []struct {
		sent string
		kept bool
	}{
		{"7f3a", true},
		{"with space ~ and !", true},
		{strings.Repeat("x", requestid.MaxBytes), true},
		{strings.Repeat("x", requestid.MaxBytes+1), false},
		{"", false},
		{"tab\there", false},
		{"naïve", false},
		{"\x7f", false},
	} {
		var inContext string
		handler := requestid.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { inContext = requestid.From(r.Context()) }))
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set(requestid.Header, c.sent)
		handler.ServeHTTP(w, r)
		switch got := w.Header().Get(requestid.Header); {
		case got != inContext:
			t.Errorf("%q: the answer has %q, the context %q", c.sent, got, inContext)
		case c.kept && got != c.sent:
			t.Errorf("%q became %q", c.sent, got)
		case !c.kept && (!made.MatchString(got) || seen[got]):
			t.Errorf("%q became %q, want a new id", c.sent, got)
		default:
			seen[got] = true
		}
	}
}
