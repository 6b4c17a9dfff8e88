// Package admin is the listener for operators: metrics, policies, keys and profiles.
// It decides nothing itself.
//
//	admin.go     the paths
//	guard.go     which calls are refused: tokens, Host, Origin
//	problem.go   answers and errors
package admin

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
)

// Config sets up the handler.
type Config struct {
	// TokenFile has the valid tokens; it is read at each call. "" asks for none.
	TokenFile string
	// Hosts are the names that a request may give as its Host, besides the address of
	// the listener and localhost.
	Hosts []string
	// Metrics answers /metrics.
	Metrics http.Handler
	// Logger gets a line for each refused call, at most 10 in a second.
	Logger *slog.Logger
}

// New returns the handler of the admin listener.
func New(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", c.Metrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	return &guard{tokenFile: c.TokenFile, hosts: c.Hosts, log: &refusalLog{logger: c.Logger}, next: mux}
}
