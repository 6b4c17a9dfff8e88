// Package httpapi serves decisions as JSON over HTTP: /v1/allow and the other verbs, /v1/policies, /healthz and
// /readyz. docs/reference/openapi.yaml describes these paths, and a test checks that it matches the handler.
//
//	handler.go   routes
//	body.go      bytes → body, within bounds
//	decode.go    body → requests
//	fields.go    values → the fields of a request
//	answers.go   the form of each answer
//	encode.go    decisions → body
//	authorize.go authorization requests from proxies
//	problem.go   errors as RFC 9457 problems
//	plain.go     plain bodies and decisions, without encoding/json
package httpapi

import (
	"net/http"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/verbs"
)

// New returns the handler for all paths of the API. It adds an id to each request: see package requestid. The hosts are
// names of the server besides its address and localhost.
func New(s *service.Service, hosts ...string) http.Handler {
	a := &api{s, hosts}
	mux := http.NewServeMux()
	for _, p := range a.paths() {
		methods := map[string]http.HandlerFunc{}
		for _, method := range p.methods {
			methods[method] = p.handle
		}
		mux.HandleFunc(p.path, problem.Methods(methods, a.refuses(service.NoPath)))
	}
	mux.HandleFunc("/", problem.NotFound(a.refuses(service.NoPath)))
	return requestid.Handler(mux)
}

type api struct {
	service *service.Service
	hosts   []string
}

// refused counts a request that is refused before a decision.
func (a *api) refused(why service.Refusal) { a.service.Refused(service.HTTP, why) }

// refuses returns a function that counts requests that are refused for a reason.
func (a *api) refuses(why service.Refusal) func() { return func() { a.refused(why) } }

// path is a path with its methods. All methods share one handler.
type path struct {
	path    string
	handle  http.HandlerFunc
	methods []string
}

func (a *api) paths() []path {
	paths := []path{
		{"/v1/policies", problem.WithoutPages(a.policies, a.refuses(service.WebPage)), []string{http.MethodGet}},
		{"/v1/authorize", a.authorize, []string{http.MethodGet, http.MethodPost}},
		{"/healthz", Alive, []string{http.MethodGet}},
		{"/readyz", Ready(a.service), []string{http.MethodGet}},
	}
	for i := range verbs.All {
		v := &verbs.All[i]
		served := &verb{v, answers[v.Answer], v.Fields().Names()}
		decide := func(w http.ResponseWriter, r *http.Request) { a.decide(w, r, served) }
		paths = append(paths, path{"/v1/" + v.Name, problem.WithoutPages(decide, a.refuses(service.WebPage)), []string{http.MethodPost}})
	}
	return paths
}

// verb is a verb with the names of its fields and the form of its answer.
type verb struct {
	*verbs.Verb
	answer

	names []string
}

func (a *api) decide(w http.ResponseWriter, r *http.Request, v *verb) {
	forbidden, limits := a.service.Permit(r.Context(), v.Kind)
	if forbidden != nil {
		a.refused(service.NoRight)
		problem.Unread(w, r)
		problemOf(&service.Error{Code: service.Forbidden, Err: forbidden}).Write(w)
		return
	}
	call, err := decode(w, r, v, limits)
	if err != nil {
		a.refused(refusalFor(err))
		problemOf(err).Write(w)
		return
	}
	for _, err := range call.errs {
		if err != nil {
			a.refused(refusalFor(err))
		}
	}
	responses := make([]decide.Response, len(call.requests))
	if len(responses) > 0 { // not if the batch contains only errors
		a.service.Do(r.Context(), service.HTTP, call.requests, responses)
	}
	if call.batch {
		writeBatch(w, v, call, responses)
		return
	}
	if responses[0].Err != nil {
		problemOf(responses[0].Err).Write(w)
		return
	}
	writeSingle(w, v, &call.requests[0], &responses[0])
}

// Alive answers /healthz: 200 while the process runs.
func Alive(w http.ResponseWriter, _ *http.Request) {
	problem.WriteJSON(w, http.StatusOK, map[string]string{"status": "alive"})
}

// Ready returns the handler for /readyz. It answers 200 if the server is ready, and 503 otherwise.
func Ready(s *service.Service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.Ready(r.Context()); err != nil {
			p := problemOf(err)
			p.Detail = "not ready: " + p.Detail
			p.Write(w)
			return
		}
		problem.WriteJSON(w, http.StatusOK, struct {
			Status     string `json:"status"`
			Generation uint64 `json:"generation"`
		}{"ready", s.Generation()})
	}
}
