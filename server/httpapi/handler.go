// Package httpapi answers decisions over HTTP with JSON: /v1/take, /v1/peek,
// /v1/give, /v1/reset, /v1/policies, /healthz and /readyz.
//
//	handler.go   routes
//	decode.go    body → requests
//	encode.go    answers → body
//	headers.go   rate-limit headers
//	problem.go   errors as RFC 9457 problems
package httpapi

import (
	"net/http"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/service"
)

// New returns the handler.
func New(s *service.Service) http.Handler {
	a := &api{service: s}
	mux := http.NewServeMux()
	a.verb(mux, "/v1/take", engine.OpAllow)
	a.verb(mux, "/v1/peek", engine.OpPeek)
	a.verb(mux, "/v1/give", engine.OpGive)
	a.verb(mux, "/v1/reset", engine.OpReset)
	get(mux, "/v1/policies", a.policies)
	get(mux, "/healthz", func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, http.StatusOK, "alive") })
	get(mux, "/readyz", a.ready)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, problem{Status: http.StatusNotFound, Detail: "no such path: " + r.URL.Path[:min(len(r.URL.Path), 128)]})
	})
	return mux
}

type api struct{ service *service.Service }

func (a *api) verb(mux *http.ServeMux, path string, kind engine.Kind) {
	only(mux, path, http.MethodPost, func(w http.ResponseWriter, r *http.Request) { a.decide(w, r, kind) })
}

func get(mux *http.ServeMux, path string, handle http.HandlerFunc) {
	only(mux, path, http.MethodGet, handle)
}

// only answers other methods with a problem instead of the mux's plain text.
func only(mux *http.ServeMux, path, method string, handle http.HandlerFunc) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
			w.Header().Set("Allow", method)
			writeProblem(w, problem{Status: http.StatusMethodNotAllowed, Detail: "method must be " + method})
			return
		}
		handle(w, r)
	})
}

func (a *api) decide(w http.ResponseWriter, r *http.Request, kind engine.Kind) {
	q, err := decode(w, r, kind)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	responses := make([]service.Response, len(q.requests))
	a.service.Do(r.Context(), q.requests, responses)
	if q.batch {
		writeBatch(w, kind, q, responses)
		return
	}
	if responses[0].Err != nil {
		writeProblem(w, problemOf(responses[0].Err))
		return
	}
	writeSingle(w, kind, &q.requests[0], &responses[0])
}

func (a *api) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.service.Ready(r.Context()); err != nil {
		p := problemOf(err)
		p.Detail = "not ready: " + p.Detail
		writeProblem(w, p)
		return
	}
	writeStatus(w, http.StatusOK, "ready")
}
