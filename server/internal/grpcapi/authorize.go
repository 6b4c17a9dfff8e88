package grpcapi

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/service"
)

// authorizer implements Envoy's external authorization service, using the routes in the policies file.
type authorizer struct {
	auth.UnimplementedAuthorizationServer

	service  *service.Service
	deadline time.Duration
}

// Check decides one request. It returns a gRPC error if the decision is not known, if the caller may not describe
// requests or use the route's policies, if the server has no routes, or if the request is not described. Envoy's
// failure_mode_allow then applies.
func (a *authorizer) Check(ctx context.Context, check *auth.CheckRequest) (*auth.CheckResponse, error) {
	if caller, trusted := a.trusts(ctx); !trusted {
		a.service.RefuseUntrusted(service.GRPC, caller)
		return nil, status.Error(codes.PermissionDenied, "requests are described by trusted proxies only; accepted: an address in trusted_proxies of the policies file, by default loopback")
	}
	if !a.service.HasRoutes() {
		a.service.Refused(service.GRPC, service.NoRoutes)
		return nil, status.Error(codes.FailedPrecondition, problem.NoRoutes)
	}
	described, ok := requestOf(check)
	if !ok {
		a.service.Refused(service.GRPC, service.Undescribed)
		return nil, status.Error(codes.InvalidArgument, "attributes.request.http is not set")
	}
	if err := a.service.Check(&described); err != nil {
		a.service.Refused(service.GRPC, service.Malformed)
		return denied(wire.NewProblem(http.StatusBadRequest, "", err.Error()), http.Header{}), nil
	}
	request, ok := a.service.Route(&described)
	if !ok {
		return allowed(nil), nil
	}
	request.Class = cmp.Or(request.Class, check.GetAttributes().GetContextExtensions()["class"])
	var responses [1]decide.Response
	a.service.DoWithin(ctx, a.deadline, service.GRPC, []decide.Request{request}, responses[:])
	h := http.Header{}
	p, ok := problem.OfRoute(h, http.StatusTooManyRequests, &request, &responses[0])
	switch {
	case ok:
		return allowed(h), nil
	case responses[0].Err != nil && p.Status == http.StatusForbidden:
		return nil, status.Error(codes.PermissionDenied, p.Detail)
	case responses[0].Err != nil && p.Status != http.StatusBadRequest:
		return nil, status.Error(codes.Unavailable, p.Detail)
	default:
		a.service.ShareDenial(h, described.Header)
		return denied(p, h), nil
	}
}

// trusts reports whether the caller may describe requests: it uses a Unix socket, or is a trusted proxy. It also returns
// the caller's address.
func (a *authorizer) trusts(ctx context.Context) (caller string, trusted bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "", false
	}
	address := peers.Peer(p.Addr)
	return address.String(), peers.IsSocket(p.Addr) || a.service.Proxies().Trusts(address)
}

// requestOf returns the request that Envoy describes. ok is false if none exists.
func requestOf(check *auth.CheckRequest) (r route.Request, ok bool) {
	attributes := check.GetAttributes()
	sent := attributes.GetRequest().GetHttp()
	if sent == nil {
		return r, false
	}
	r = route.Request{Method: sent.Method, Size: sent.Size, Header: make(http.Header, len(sent.Headers)), Joined: len(sent.Headers) > 0}
	for name, value := range sent.Headers {
		if !strings.HasPrefix(name, ":") {
			r.Header.Add(name, value)
		}
	}
	for _, h := range sent.GetHeaderMap().GetHeaders() { // used instead of Headers with encode_raw_headers
		if value := h.GetValue() + string(h.GetRawValue()); !strings.HasPrefix(h.GetKey(), ":") {
			r.Header.Add(h.GetKey(), value)
		}
	}
	r.SetTarget(sent.Path)
	r.Host = sent.Host
	if address, err := netip.ParseAddr(attributes.GetSource().GetAddress().GetSocketAddress().GetAddress()); err == nil {
		r.Peer = address.Unmap()
	}
	return r, true
}

func allowed(h http.Header) *auth.CheckResponse {
	return &auth.CheckResponse{
		Status:       &rpc.Status{Code: int32(codes.OK)},
		HttpResponse: &auth.CheckResponse_OkResponse{OkResponse: &auth.OkHttpResponse{ResponseHeadersToAdd: options(h)}},
	}
}

func denied(p wire.Problem, h http.Header) *auth.CheckResponse {
	headers := append(options(h), option("Content-Type", "application/problem+json"))
	return &auth.CheckResponse{
		Status: &rpc.Status{Code: int32(codes.ResourceExhausted)},
		HttpResponse: &auth.CheckResponse_DeniedResponse{DeniedResponse: &auth.DeniedHttpResponse{
			Status: &kind.HttpStatus{Code: kind.StatusCode(p.Status)}, Headers: headers, Body: string(p.JSON()),
		}},
	}
}

func options(h http.Header) (all []*core.HeaderValueOption) {
	for name, values := range h {
		for _, value := range values {
			all = append(all, option(name, value))
		}
	}
	return all
}

// option returns an option that sets a header, replacing any value sent by the upstream.
func option(name, value string) *core.HeaderValueOption {
	return &core.HeaderValueOption{Header: &core.HeaderValue{Key: name, Value: value}, AppendAction: core.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD}
}
