package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/service"
)

// TestOpenAPIListsEveryRoute checks that the file and the mux contain the same paths and methods.
func TestOpenAPIListsEveryRoute(t *testing.T) {
	s := loadSpec(t)
	undocumented := map[string]bool{}
	for _, p := range (&api{}).paths() {
		for _, method := range p.methods {
			undocumented[method+" "+p.path] = true
		}
	}
	for _, o := range s.operations() {
		if !undocumented[o.String()] {
			t.Errorf("openapi.yaml has %s, the mux has not", o)
		}
		delete(undocumented, o.String())
	}
	for route := range undocumented {
		t.Errorf("the mux has %s, openapi.yaml has not", route)
	}
}

// TestOpenAPIDescribesResponses sends every example request, and a request for each other status in the file. The
// status, headers and body of each response must match the file, and every status in the file must occur.
func TestOpenAPIDescribesResponses(t *testing.T) {
	s := loadSpec(t)
	handlers := newHandlers(t)
	seen := map[string]bool{}
	send := func(h http.Handler, o operation, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(o.method, "http://localhost"+o.path, strings.NewReader(body)))
		seen[o.String()+" "+strconv.Itoa(w.Code)] = true
		s.checkResponse(t, o, body, w)
	}
	for _, o := range s.operations() {
		if o.path == "/v1/authorize" {
			authorizeEach(t, s, o, seen)
			continue
		}
		if o.method == http.MethodGet {
			send(handlers.open, o, "")
			send(handlers.stopped, o, "")
			if o.path == "/v1/policies" {
				send(pageOf(handlers.open), o, "")
			}
			continue
		}
		for _, body := range s.requestExamples(t, o) {
			send(handlers.open, o, body)
		}
		send(handlers.open, o, `{"policy":"never","key":"k"}`)
		send(handlers.open, o, `{"policy":"slow","key":"k"}`)
		send(handlers.open, o, `{"policy":"slow","key":"k"}`) // the second request is denied with Retry-After
		send(handlers.open, o, `{"policy":"old","key":"k"}`)
		send(handlers.open, o, `{"policy":"older","key":"k"}`)
		send(handlers.open, o, `{"policy":"reply","key":"k","costs":1}`)
		send(handlers.open, o, `{"policy":"missing","key":"k"}`)
		send(handlers.open, o, `{"key":"`+strings.Repeat("k", maxBody)+`"}`)
		send(handlers.open, o, `{"key":"k","limit":{"algorithm":"gcra","rate":"1/s","burst":0}}`)
		send(handlers.readOnly, o, `{"policy":"reply","key":"k"}`)
		send(pageOf(handlers.open), o, `{"policy":"reply","key":"k"}`)
		send(handlers.stopped, o, `{"policy":"reply","key":"k"}`)
		for _, body := range handlers.holds(t) {
			send(handlers.open, o, body)
			send(handlers.stopped, o, body)
		}
	}
	for _, o := range s.operations() {
		for status := range s.node(t, o.pointer()+"/responses") {
			if !seen[o.String()+" "+status] {
				t.Errorf("no request was answered %s by %s", status, o)
			}
		}
	}
}

// pageOf returns a handler that makes each request look as if a web page had sent it.
func pageOf(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Origin", "http://elsewhere.example")
		h.ServeHTTP(w, r)
	})
}

// TestOpenAPIExamplesAreValid checks that each example of a request or response matches its schema.
func TestOpenAPIExamplesAreValid(t *testing.T) {
	s, count := loadSpec(t), 0
	var walk func(pointer string, node any)
	walk = func(pointer string, node any) {
		object, ok := node.(map[string]any)
		if !ok {
			return
		}
		if examples, ok := object["examples"].(map[string]any); ok && object["schema"] != nil {
			for name := range examples {
				count++
				value := s.node(t, pointer+"/examples/"+name)["value"]
				if err := s.validate(t, pointer+"/schema", value); err != nil {
					t.Errorf("%s, example %s: %v", pointer, name, err)
				}
			}
		}
		for name, child := range object {
			walk(pointer+"/"+escape(name), child)
		}
	}
	walk("", s.root)
	if count < 8 {
		t.Errorf("%d examples found, want at least 8", count)
	}
}

// handlers holds the handlers for the tests' requests.
type handlers struct {
	open     http.Handler // a server with --allow-writes
	readOnly http.Handler
	stopped  http.Handler // its store is closed, and it is draining
}

// holds returns bodies that depend on the answer to an earlier request. Each is valid for some of the paths and invalid
// for the others.
func (h handlers) holds(t *testing.T) []string {
	t.Helper()
	w := httptest.NewRecorder()
	h.open.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/acquire", strings.NewReader(`{"policy":"jobs","key":"full","id":"me","cost":3}`)))
	var answer, settled struct{ Reservation string }
	for _, of := range []*struct{ Reservation string }{&answer, &settled} {
		w = httptest.NewRecorder()
		h.open.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/reserve", strings.NewReader(`{"policy":"api","key":"held"}`)))
		if err := json.Unmarshal(w.Body.Bytes(), of); err != nil || of.Reservation == "" {
			t.Fatal(err, w.Body)
		}
	}
	h.open.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/cancel", strings.NewReader(`{"reservation":"`+settled.Reservation+`"}`)))
	return []string{
		`{"reservation":"` + answer.Reservation + `"}`,
		`{"reservation":"` + answer.Reservation + `","actual":1}`,
		`{"reservation":"` + settled.Reservation + `","actual":1}`,
		`{"requests":[{"reservation":"` + answer.Reservation + `"},{"reservation":"` + answer.Reservation + `","actual":1}]}`,
		`{"policy":"jobs","key":"held","id":"me"}`,
		`{"policy":"jobs","key":"full","id":"other"}`,
		`{"policy":"jobs","key":"held","cost":9}`,
		`{"policy":"reply","key":"held","id":"me"}`,
		`{"policy":"missing","key":"held","id":"me"}`,
	}
}

func newHandlers(t *testing.T) handlers {
	t.Helper()
	config, err := policy.Parse("test.yaml", []byte(`
policies:
  reply: {algorithm: sliding-log, limit: 5, window: 1m}
  api:   {algorithm: token-bucket, rate: 100/s, burst: 200, settle_within: 10m}
  both:  {all: [reply, api]}
  old:   {algorithm: token-bucket, rate: 100/s, headers: draft-03}
  older: {algorithm: token-bucket, rate: 100/s, headers: x-ratelimit}
  slow:  1/1h
  never: {deny: true}
  jobs:  {algorithm: concurrency, limit: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	secret := func(context.Context) ([]byte, error) { return []byte("of all three"), nil }
	newService := func(writes bool) (*service.Service, *core.Limiter) {
		store, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		limiter := core.New(core.Config{Store: store})
		return service.New(service.Config{Limiter: limiter, Policies: config.Policies, AllowWrites: writes, Secret: secret}), limiter
	}
	open, _ := newService(true)
	readOnly, _ := newService(false)
	stopped, limiter := newService(true)
	stopped.Drain()
	if err := limiter.Close(); err != nil {
		t.Fatal(err)
	}
	return handlers{New(open), New(readOnly), New(stopped)}
}
