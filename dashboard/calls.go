package dashboard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/headgate/headgate/dashboard/feed"
	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/internal/errcode"
)

// routes registers the handlers for the page and for the API calls that a program supports. None of them changes
// anything.
func (p *Program) routes() {
	p.mux.Handle("/", Handler())
	for _, e := range []adminapi.Endpoint{
		adminapi.GetAccess.By(func(*http.Request, *adminapi.None) (adminapi.Access, error) {
			return adminapi.Access{Program: true}, nil
		}),
		adminapi.ListChanges.By(func(*http.Request, *adminapi.None) (adminapi.Changes, error) {
			return adminapi.Changes{Changes: []adminapi.ActiveChange{}}, nil
		}),
		adminapi.ListHistory.By(func(*http.Request, *adminapi.None) (adminapi.History, error) {
			return adminapi.History{Actions: []adminapi.Action{}}, nil
		}),
		adminapi.ListPolicies.By(p.listPolicies),
		adminapi.ShowPolicy.By(p.showPolicy),
		adminapi.ListTop.By(p.topKeys),
		adminapi.ExplainKey.By(p.explain),
		adminapi.ShowTimeline.By(p.timeline),
	} {
		p.mux.HandleFunc(e.Pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := e.Answer(w, r)
			respond(w, v, err)
		})
	}
	p.mux.HandleFunc("GET "+adminapi.EventsPath, func(w http.ResponseWriter, r *http.Request) {
		if !p.feed.Serve(w, r, 0, func() bool { return true }) {
			respond(w, nil, fmt.Errorf("there are %d streams of events already, or the program stops", feed.MaxStreams))
		}
	})
}

// respond writes the result of a call as JSON, or its error as an RFC 9457 problem.
func respond(w http.ResponseWriter, v any, err error) {
	status, kind := http.StatusOK, "application/json"
	if err != nil {
		own := &adminapi.Error{Status: http.StatusServiceUnavailable, Detail: err.Error()}
		errors.As(err, &own)
		sent := *own
		sent.Code = cmp.Or(own.Code, errcode.OfStatus(own.Status))
		status, kind = own.Status, "application/problem+json"
		v = struct {
			Type  string `json:"type"`
			Title string `json:"title"`
			*adminapi.Error
		}{"about:blank", http.StatusText(status), &sent}
	}
	text, err := json.Marshal(v)
	if err != nil {
		status, text = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a failed write means that the client is gone
}
