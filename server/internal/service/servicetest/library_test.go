package servicetest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/server/internal/service"
)

// library is a front end for the suite that calls a Go program's limiter directly.
type library struct{ limiter *filelimit.Limiter }

func (l library) Do(t *testing.T, r Request) Answer {
	t.Helper()
	q, ok := r.Decide()
	if !ok {
		return Answer{Failed: true, Code: service.WrongVerb}
	}
	answers := make([]decide.Response, 1)
	l.limiter.Do(t.Context(), []decide.Request{q}, answers)
	var input *engine.InputError
	var unknown *decide.NoPolicyError
	switch err := answers[0].Err; {
	case errors.As(err, &unknown):
		return Answer{Failed: true, Code: service.NotFound}
	case errors.As(err, &input) && input.Field == "limit":
		return Answer{Failed: true, Code: service.WrongVerb}
	case errors.As(err, &input):
		return Answer{Failed: true, Code: service.Invalid}
	case err != nil:
		return Answer{Failed: true, Code: service.Unavailable}
	}
	return OfResponse(r.Kind, &answers[0])
}

// TestLibraryAnswersTheSuite checks that a Go program with a policies file decides like a server with the same file.
func TestLibraryAnswersTheSuite(t *testing.T) {
	RunLibrary(t, func(_ *testing.T, l *filelimit.Limiter) Front { return library{l} })
}

// TestMiddlewareAnswersTheSuite checks that a Go program's middleware decides by routes like a server.
func TestMiddlewareAnswersTheSuite(t *testing.T) {
	RunRoutes(t, func(_ *testing.T, _ *service.Service, l *filelimit.Limiter) Ask {
		handler := httplimit.By(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		return func(_ *testing.T, r *http.Request) (int, http.Header) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code, w.Header()
		}
	})
}

// TestLibraryHashesKeysAsAServer checks that a program and a server with the same file of secrets share a key's
// counter, and that neither passes the key itself to the store. Overrides match the key itself.
func TestLibraryHashesKeysAsAServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(path, []byte(strings.Repeat("s", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets, err := keyhash.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse("x.yaml", []byte(Policies+"routes: [{match: {path: /b}, key: [{header: X-User}], policies: [bucket]}, {key: [{header: X-User}], policies: [reply]}]"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	limiter := headgate.New(headgate.WithCore(func(c *core.Config) {
		c.Observer = func(_ context.Context, op *engine.Op, _ *engine.Answer) { keys = append(keys, op.Key) }
	}))
	defer limiter.Close()
	server := direct{service.New(service.Config{Limiter: limiter.Core(), Policies: config.Policies, HashKeys: secrets, AllowWrites: true})}
	program := filelimit.New(config, limiter, filelimit.WithHashKeys(secrets))
	take := Request{Kind: engine.OpAllow, Policy: "reply", Key: "ann", Cost: 1}
	web := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	web.Header.Set("X-User", "ann")
	for i, next := range []func() int64{
		func() int64 { return server.Do(t, take).Remaining },
		func() int64 { return library{program}.Do(t, take).Remaining },
		func() int64 { d, _ := program.AllowRequest(web); return d.Remaining },
		func() int64 { a, _ := program.ChargeRequest(web, true); return a.Decision.Remaining },
		func() int64 { return server.Do(t, take).Remaining },
	} {
		if left := next(); left != int64(4-i) {
			t.Errorf("call %d: %d left, want %d", i, left, 4-i)
		}
	}
	if d, err := program.AllowN(t.Context(), "bucket", "partner-x", 1); err != nil || d.Limit != 200 {
		t.Errorf("an override by the key: %+v, %v", d, err)
	}
	partner := httptest.NewRequest(http.MethodGet, "/b", http.NoBody)
	partner.Header.Set("X-User", "partner-y")
	if d, err := program.AllowRequest(partner); err != nil || d.Limit != 200 {
		t.Errorf("an override of a route's key: %+v, %v", d, err)
	}
	if d, err := program.AllowN(t.Context(), "bucket", secrets.Secrets().Of(0, "partner-x"), 1); err != nil || d.Limit != 20 {
		t.Errorf("the text of a hash has the limit of its key: %+v, %v", d, err)
	}
	if found, err := program.Reset(t.Context(), "reply", "ann"); err != nil || !found {
		t.Errorf("reset: %t, %v", found, err)
	}
	if at := slices.IndexFunc(keys, func(key string) bool { return !keyhash.Is(key) }); at >= 0 {
		t.Errorf("the store sees %q", keys[at])
	}
}
