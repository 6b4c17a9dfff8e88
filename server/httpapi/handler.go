// Package httpapi answers decisions over HTTP with JSON: /v1/take and the other verbs,
// /v1/policies, /healthz and /readyz. docs/reference/openapi.yaml describes them; a test
// compares it with the handler.
//
//	handler.go   routes
//	verbs.go     what each path reads and answers
//	decode.go    body → requests
//	encode.go    decisions → body
//	headers.go   rate-limit headers
//	problem.go   errors as RFC 9457 problems
//	duplicate.go names that stand twice in one object
package httpapi

import (
	"net/http"

	"github.com/headgate/headgate/server/service"
)

// New returns the handler.
func New(s *service.Service) http.Handler {
	a := &api{service: s}
	mux := http.NewServeMux()
	for _, r := range a.routes() {
		mux.HandleFunc(r.path, r.serve)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, problem{Status: http.StatusNotFound, Detail: "no such path: " + r.URL.Path[:min(len(r.URL.Path), 128)]})
	})
	return mux
}

type api struct{ service *service.Service }

// route is a path with its only method. GET includes HEAD.
type route struct {
	method, path string
	handle       http.HandlerFunc
}

func (a *api) routes() []route {
	alive := func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, "application/json", map[string]string{"status": "alive"})
	}
	routes := []route{
		{http.MethodGet, "/v1/policies", a.policies},
		{http.MethodGet, "/healthz", alive},
		{http.MethodGet, "/readyz", a.ready},
	}
	for path, v := range verbs {
		routes = append(routes, route{http.MethodPost, path, a.verb(&v)})
	}
	return routes
}

// serve answers another method with a problem. A method in the mux's pattern would
// answer it with plain text.
func (r route) serve(w http.ResponseWriter, request *http.Request) {
	if request.Method != r.method && (r.method != http.MethodGet || request.Method != http.MethodHead) {
		w.Header().Set("Allow", r.method)
		writeProblem(w, problem{Status: http.StatusMethodNotAllowed, Detail: "method must be " + r.method})
		return
	}
	r.handle(w, request)
}

func (a *api) verb(v *verb) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { a.decide(w, r, v) }
}

func (a *api) decide(w http.ResponseWriter, r *http.Request, v *verb) {
	call, err := decode(w, r, v)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	responses := make([]service.Response, len(call.requests))
	a.service.Do(r.Context(), service.HTTP, call.requests, responses)
	if call.batch {
		writeBatch(w, v, call, responses)
		return
	}
	if responses[0].Err != nil {
		writeProblem(w, problemOf(responses[0].Err))
		return
	}
	writeSingle(w, v, &call.requests[0], &responses[0])
}

func (a *api) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.service.Ready(r.Context()); err != nil {
		p := problemOf(err)
		p.Detail = "not ready: " + p.Detail
		writeProblem(w, p)
		return
	}
	writeJSON(w, http.StatusOK, "application/json", struct {
		Status     string `json:"status"`
		Generation uint64 `json:"generation"`
	}{"ready", a.service.Generation()})
}
