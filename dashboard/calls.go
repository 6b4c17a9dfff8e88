package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/headgate/headgate/dashboard/feed"
)

// maxBody is the size of the largest body of a call.
const maxBody = 16 << 10

// object is a JSON object.
type object = map[string]any

// problem is an error of a call, as RFC 9457 defines it.
type problem struct {
	status        int
	field, detail string
}

func (p *problem) Error() string { return p.detail }

func badField(field, detail string) error {
	return &problem{http.StatusBadRequest, field, field + ": " + detail}
}

// routes sets the paths. What a page of a server can change is not there.
func (p *Program) routes() {
	p.mux.Handle("/", Handler())
	for pattern, answer := range map[string]func(r *http.Request) (any, error){
		"GET /admin/v1/access": func(*http.Request) (any, error) {
			return object{"administers": false, "hashed_keys": false, "version": "", "program": true}, nil
		},
		"GET /admin/v1/changes":         func(*http.Request) (any, error) { return object{"changes": []any{}}, nil },
		"GET /admin/v1/history":         func(*http.Request) (any, error) { return object{"actions": []any{}}, nil },
		"GET /admin/v1/policies":        p.listPolicies,
		"GET /admin/v1/policies/{name}": p.showPolicy,
		"GET /admin/v1/keys/top":        p.topKeys,
		"POST /admin/v1/keys/explain":   p.explain,
		"POST /admin/v1/keys/timeline":  p.timeline,
	} {
		p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { respond(w, r, answer) })
	}
	p.mux.HandleFunc("GET /admin/v1/events", func(w http.ResponseWriter, r *http.Request) {
		if !p.feed.Serve(w, r, 0, func() bool { return true }) {
			respond(w, r, func(*http.Request) (any, error) {
				return nil, &problem{http.StatusServiceUnavailable, "", fmt.Sprintf("there are %d streams of events already, or the program stops", feed.MaxStreams)}
			})
		}
	})
}

// respond writes the answer of a call, or its error.
func respond(w http.ResponseWriter, r *http.Request, answer func(r *http.Request) (any, error)) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	v, err := answer(r)
	status, kind := http.StatusOK, "application/json"
	if err != nil {
		own := &problem{http.StatusServiceUnavailable, "", err.Error()}
		errors.As(err, &own)
		status, kind = own.status, "application/problem+json"
		v = object{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": own.detail, "field": own.field}
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

// number returns a whole number of the query, from 1.
func number(r *http.Request, name string, without, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, badField(name, strconv.Quote(text)+"; accepted: 1 to "+strconv.Itoa(most))
	}
	return n, nil
}
