package filelimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

// A program that ignores the error of policy.Load is told so where it uses the result. A file that could not be read again
// does not end the limits in force (regression: bug 146).
func TestNoConfigIsNamed(t *testing.T) {
	l, _ := boundLimiter(t)
	missing, _ := policy.Load("nowhere.yaml")
	for want, use := range map[string]func(){
		"filelimit: config is nil; accepted: ":    func() { filelimit.New(missing, headgate.New()) },
		"filelimit: an option is nil; accepted: ": func() { filelimit.New(policy.Empty(), headgate.New(), nil) },
		"filelimit: WithFailure(99); accepted: ": func() {
			filelimit.New(policy.Empty(), headgate.New(), filelimit.WithFailure(99))
		},
		"filelimit: config is nil": func() { l.Replace(missing) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			use()
		}()
	}
	if d, err := l.Allow(t.Context(), "user", "k"); err != nil || d.Remaining != 2 {
		t.Errorf("after Replace(nil): %v, %v", d, err)
	}
}

// A request without a policy's name is told about the name, not about a limit that it did not write (regression: bug 146).
func TestPolicyNameIsNeeded(t *testing.T) {
	l, _ := boundLimiter(t)
	_, err := l.Allow(t.Context(), "", "k")
	if _, ok := errors.AsType[*decide.NoPolicyError](err); !ok {
		t.Error(err)
	}
	_, err = l.Reset(t.Context(), "", "k")
	if _, ok := errors.AsType[*decide.NoPolicyError](err); !ok {
		t.Error(err)
	}
}

// A client that leaves before the decision is not served without a limit under failure mode allow while the store
// answers (regression: bug 261).
func TestAllowOfAClientThatLeft(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies: {open: {algorithm: fixed-window, limit: 1, window: 1h, failure: allow}}
routes: [{key: [client_ip], policies: [open]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	defer limiter.Close()
	left, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(left, http.MethodGet, "/", nil)
	if d, err := filelimit.New(config, limiter).AllowRequest(r); !errors.Is(err, context.Canceled) {
		t.Error(d, err)
	}
}

// A request that no server received is the program's mistake, and so is a response that was not filled in.
func TestNoRequestIsNamed(t *testing.T) {
	l, _ := boundLimiter(t)
	for _, r := range []*http.Request{nil, {}} {
		_, allow := l.AllowRequest(r)
		_, charge := l.ChargeRequest(r, true)
		for _, err := range []error{allow, charge} {
			if !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), "request is nil or has no URL; ") {
				t.Error(err)
			}
		}
	}
	if d := filelimit.Decision(nil); d.Allowed {
		t.Error(d)
	}
}

// Requests under a file without routes do not pass, and a limiter on a store that was not opened is the program's mistake,
// not the client's (regression: bug 263).
func TestMistakesOfTheProgramLetNoRequestPass(t *testing.T) {
	parse := func(text string) *policy.Config {
		config, err := policy.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	const policies = "policies: {login: 1/m}\n"
	unopened := headgate.New(headgate.WithStore((*memstore.Store)(nil)))
	for want, l := range map[string]*filelimit.Limiter{
		"routes are not set; accepted: ":    filelimit.New(parse(policies), headgate.New()),
		"routes are not set; accepted: a ":  filelimit.New(&policy.Config{}, headgate.New()),
		"store is ":                         filelimit.New(parse(policies+"routes: [{key: [client_ip], policies: [login]}]"), unopened),
		"limiter is not set; accepted: the": {},
	} {
		served := false
		handler := httplimit.By(l, httplimit.WithError(httplimit.FailOpen))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/", nil))
		if served || out.Code != http.StatusInternalServerError || !strings.Contains(out.Body.String(), want) {
			t.Errorf("served: %t; %d %s, want 500 with %q", served, out.Code, out.Body, want)
		}
	}
}
