package grpcapi

import (
	"context"
	"errors"
	"io"
	"net/http"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// Paths adds envoyproxy/ratelimit's HTTP paths to a handler: /json answers a ShouldRateLimit request in JSON, and
// /healthcheck answers OK if the service is ready and the function ready returns nil. Status codes and bodies match
// envoyproxy/ratelimit, but requests from web pages to /json get a 403.
//
// If writes is false, requests that give hits back get a 403, because a client could otherwise reset its own
// counter. gRPC allows them, because only Envoy uses it. If noInline is set, requests with inline limits get a 403
// too. On a listener with users, the user's rights decide.
//
// It calls refused for each request that is refused before a decision.
func Paths(rules *envoy.Service, ready func(context.Context) error, noInline, writes bool, refused func(service.Refusal), others http.Handler) http.Handler {
	json := requestid.Handler(problem.WithoutPages(func(w http.ResponseWriter, r *http.Request) { answerJSON(rules, noInline, writes, refused, w, r) }, func() { refused(service.WebPage) }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			json.ServeHTTP(w, r)
		case "/healthcheck":
			if rules.Ready() != nil || ready(r.Context()) != nil {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, "OK")
		default:
			others.ServeHTTP(w, r)
		}
	})
}

// answerJSON writes the response with status 200 or 429, or an error with status 400, as envoyproxy/ratelimit does. If
// --failure is set, an unknown decision gets a 503.
func answerJSON(rules *envoy.Service, noInline, writes bool, refused func(service.Refusal), w http.ResponseWriter, r *http.Request) {
	u, guarded := users.From(r.Context())
	limits := service.PermitLimits(u, guarded, noInline)
	body, err := jsontext.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage), newScanner(limits), r.ContentLength, maxMessage+1)
	switch {
	case limits != nil && errors.Is(err, limits):
		refused(service.NoRight)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	case err != nil:
		refused(service.Malformed)
		writeStatus(w, http.StatusBadRequest)
		return
	}
	var request pb.RateLimitRequest
	if err := protojson.Unmarshal(body, &request); err != nil {
		refused(service.Malformed)
		writeStatus(w, http.StatusBadRequest)
		return
	}
	if err := permit(r.Context(), &request, noInline, writes); err != nil {
		refused(service.NoRight)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	response, err := rules.ShouldRateLimit(r.Context(), &request)
	if err != nil {
		status := http.StatusBadRequest
		if codeOf(err) == codes.Unavailable {
			status = http.StatusServiceUnavailable
		}
		writeStatus(w, status)
		return
	}
	data, err := protojson.Marshal(response)
	if err != nil {
		writeStatus(w, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if response.OverallCode == pb.RateLimitResponse_OVER_LIMIT {
		w.WriteHeader(http.StatusTooManyRequests)
	}
	_, _ = w.Write(data)
}

// shape bounds the body of a /json request. Valid bodies have 5 levels: the request, its descriptors, a descriptor,
// its entries, an entry.
var shape = jsontext.Bounds{Depth: 8, Elements: []int{engine.MaxOps}, Names: 32, Text: maxMessage, Name: 256, Number: 64}

// ofDescriptor is the depth of a descriptor's fields.
const ofDescriptor = 3

// newScanner returns a scanner for a body. If limits is not nil, an inline limit in a descriptor ends the scan, and
// limits is the error.
func newScanner(limits error) *jsontext.Scanner {
	if limits == nil {
		return jsontext.NewScanner(&shape)
	}
	bounds := shape
	bounds.Field = func(depth int, name []byte) error {
		if depth == ofDescriptor && string(name) == "limit" {
			return limits
		}
		return nil
	}
	return jsontext.NewScanner(&bounds)
}

func writeStatus(w http.ResponseWriter, code int) { http.Error(w, http.StatusText(code), code) }
