// Package httpapi answers decisions over HTTP with JSON: /v1/take, /v1/peek,
// /v1/give, /v1/reset, /v1/policies, /healthz and /readyz. docs/reference/openapi.yaml
// describes them; a test compares it with the handler.
//
//	handler.go   routes
//	decode.go    body → requests
//	encode.go    decisions → body
//	headers.go   rate-limit headers
//	problem.go   errors as RFC 9457 problems
//	duplicate.go names that stand twice in one object
package httpapi

import (
	"net/http"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/problem"
	"github.com/headgate/headgate/server/requestid"
	"github.com/headgate/headgate/server/service"
)

// New returns the handler.
func New(s *service.Service) http.Handler {
	a := &api{service: s}
	mux := http.NewServeMux()
	for _, p := range a.paths() {
		methods := map[string]http.HandlerFunc{}
		for _, method := range p.methods {
			methods[method] = p.handle
		}
		mux.HandleFunc(p.path, problem.Methods(methods))
	}
	mux.HandleFunc("/", problem.NotFound)
	return requestid.Handler(mux)
}

type api struct{ service *service.Service }

// path is a path with its methods, which have one handler.
type path struct {
	path    string
	handle  http.HandlerFunc
	methods []string
}

func (a *api) paths() []path {
	alive := func(w http.ResponseWriter, _ *http.Request) {
		problem.WriteJSON(w, http.StatusOK, map[string]string{"status": "alive"})
	}
	return []path{
		{"/v1/take", a.verb(engine.OpAllow), []string{http.MethodPost}},
		{"/v1/peek", a.verb(engine.OpPeek), []string{http.MethodPost}},
		{"/v1/give", a.verb(engine.OpGive), []string{http.MethodPost}},
		{"/v1/reset", a.verb(engine.OpReset), []string{http.MethodPost}},
		{"/v1/policies", a.policies, []string{http.MethodGet}},
		{"/v1/authorize", a.authorize, []string{http.MethodGet, http.MethodPost}},
		{"/healthz", alive, []string{http.MethodGet}},
		{"/readyz", a.ready, []string{http.MethodGet}},
	}
}

func (a *api) verb(kind engine.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { a.decide(w, r, kind) }
}

func (a *api) decide(w http.ResponseWriter, r *http.Request, kind engine.Kind) {
	call, err := decode(w, r, kind)
	if err != nil {
		problemOf(err).Write(w)
		return
	}
	responses := make([]service.Response, len(call.requests))
	a.service.Do(r.Context(), service.HTTP, call.requests, responses)
	if call.batch {
		writeBatch(w, kind, call, responses)
		return
	}
	if responses[0].Err != nil {
		problemOf(responses[0].Err).Write(w)
		return
	}
	writeSingle(w, kind, &call.requests[0], &responses[0])
}

func (a *api) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.service.Ready(r.Context()); err != nil {
		p := problemOf(err)
		p.Detail = "not ready: " + p.Detail
		p.Write(w)
		return
	}
	problem.WriteJSON(w, http.StatusOK, struct {
		Status     string `json:"status"`
		Generation uint64 `json:"generation"`
	}{"ready", a.service.Generation()})
}
