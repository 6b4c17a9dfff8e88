package connectadapter_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/headgate/headgate"
	connectadapter "github.com/headgate/headgate/adapter/connect"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
)

const (
	unary  = "/demo.v1.Demo/Unary"
	stream = "/demo.v1.Demo/Stream"
)

type empty = emptypb.Empty

// service offers a unary procedure and a stream. Both fail if the header Fail requests it.
type service struct {
	url    string
	client *http.Client
}

func fail(h http.Header) error {
	if h.Get("Fail") == "" {
		return nil
	}
	return connect.NewError(connect.CodeUnauthenticated, errors.New("for the test"))
}

func serve(t *testing.T, limit connect.Interceptor) *service {
	t.Helper()
	mux := http.NewServeMux()
	with := connect.WithInterceptors(limit)
	mux.Handle(unary, connect.NewUnaryHandler(unary, func(_ context.Context, r *connect.Request[empty]) (*connect.Response[empty], error) {
		return connect.NewResponse(&empty{}), fail(r.Header())
	}, with))
	mux.Handle(stream, connect.NewServerStreamHandler(stream, func(_ context.Context, r *connect.Request[empty], s *connect.ServerStream[empty]) error {
		if err := s.Send(&empty{}); err != nil {
			return err
		}
		return fail(r.Header())
	}, with))
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return &service{server.URL, server.Client()}
}

// call makes a unary call, or reads a stream to the end.
func (s *service) call(t *testing.T, procedure string, option connect.ClientOption, headers ...string) (http.Header, error) {
	t.Helper()
	client := connect.NewClient[empty, empty](s.client, s.url+procedure, option)
	request := connect.NewRequest(&empty{})
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header().Set(headers[i], headers[i+1])
	}
	if procedure == unary {
		response, err := client.CallUnary(t.Context(), request)
		if err != nil {
			return nil, err
		}
		return response.Header(), nil
	}
	answers, err := client.CallServerStream(t.Context(), request)
	if err != nil {
		return nil, err
	}
	defer answers.Close()
	for answers.Receive() {
	}
	return answers.ResponseHeader(), answers.Err()
}

func policy(t *testing.T, limit engine.Limit) *headgate.Policy {
	l := headgate.New()
	t.Cleanup(func() { _ = l.Close() })
	return l.PolicyOf("per-ip", limit)
}

// With each of the three protocols, responses to unary calls and streams contain the headers, and the error for a
// denied call contains the details.
func TestProtocols(t *testing.T) {
	for name, option := range map[string]connect.ClientOption{"connect": connect.WithProtoJSON(), "grpc": connect.WithGRPC(), "grpc-web": connect.WithGRPCWeb()} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, connectadapter.New(policy(t, rule.FixedWindow(rule.PerHour(2))), httplimit.ByIP()))
			for i, procedure := range []string{unary, stream} {
				h, err := s.call(t, procedure, option)
				if want := []string{`"per-ip";r=1;t=3600`, `"per-ip";r=0;t=3600`}[i]; err != nil || h.Get("Ratelimit") != want {
					t.Errorf("%s: %v %v, want %s", procedure, h, err, want)
				}
			}
			for _, procedure := range []string{unary, stream} {
				_, err := s.call(t, procedure, option)
				denied(t, err)
			}
		})
	}
}

// denied checks the error for a call that was denied by an hourly limit.
func denied(t *testing.T, err error) {
	t.Helper()
	var failure *connect.Error
	if !errors.As(err, &failure) || failure.Code() != connect.CodeResourceExhausted || !strings.Contains(failure.Message(), "per-ip") || failure.Meta().Get("Retry-After") != "3600" {
		t.Fatalf("%v", err)
	}
	found := 0
	for _, detail := range failure.Details() {
		value, err := detail.Value()
		if err != nil {
			t.Fatal(err)
		}
		switch d := value.(type) {
		case *errdetails.RetryInfo:
			if wait := d.GetRetryDelay().AsDuration(); wait > 59*time.Minute && wait <= time.Hour {
				found++
			}
		case *errdetails.QuotaFailure:
			if len(d.GetViolations()) == 1 && d.GetViolations()[0].GetSubject() == "per-ip" {
				found++
			}
		}
	}
	if found != 2 {
		t.Errorf("details %v", failure.Details())
	}
}

// Keys come from headers. Rules receive a call's code as an HTTP status.
func TestKeysAndResponses(t *testing.T) {
	for _, procedure := range []string{unary, stream} {
		s := serve(t, connectadapter.New(policy(t, rule.FixedWindow(rule.PerHour(1))), httplimit.ByHeader("X-User"), httplimit.WithFinalCost(httplimit.OnlyFailures)))
		for i, c := range []struct {
			headers []string
			want    connect.Code
		}{
			{[]string{"X-User", "a"}, 0},
			{[]string{"X-User", "a"}, 0}, // successes are not counted
			{[]string{"X-User", "a", "Fail", "1"}, connect.CodeUnauthenticated},
			{[]string{"X-User", "a"}, connect.CodeResourceExhausted},
			{[]string{"X-User", "b"}, 0},
			{nil, connect.CodeInvalidArgument},
		} {
			_, err := s.call(t, procedure, connect.WithGRPC(), c.headers...)
			if err != nil && connect.CodeOf(err) != c.want || err == nil && c.want != 0 {
				t.Errorf("%s, call %d: %v, want %v", procedure, i, err, c.want)
			}
		}
	}
}

// routes decides by procedure, like the routes of a policies file.
type routes struct{}

func (routes) AllowRequest(r *http.Request) (headgate.Decision, error) {
	if r.Method != http.MethodPost || r.ContentLength != -1 || r.URL.Path != unary {
		return headgate.Decision{}, headgate.ErrStoreUnavailable
	}
	return headgate.Decision{RetryAfter: headgate.Never}, nil
}

// noKey refuses each call because it lacks its key, with the status of its route (regression: bug 222).
type noKey int

func (n noKey) AllowRequest(*http.Request) (headgate.Decision, error) {
	return headgate.Decision{}, &httplimit.NoKeyError{Part: "header X-API-Key", Status: int(n)}
}

// If a call can never pass, its denial contains no RetryInfo. If the decision is not known, a call fails as
// unavailable, or passes with FailOpen.
func TestBy(t *testing.T) {
	s := serve(t, connectadapter.By(routes{}))
	_, err := s.call(t, unary, connect.WithGRPC())
	var failure *connect.Error
	if !errors.As(err, &failure) || failure.Code() != connect.CodeResourceExhausted || len(failure.Details()) != 1 {
		t.Errorf("%v", err)
	}
	if _, err := s.call(t, stream, connect.WithGRPC()); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Error(err)
	}
	for sent, want := range map[int]connect.Code{400: connect.CodeInvalidArgument, 401: connect.CodeUnauthenticated, 403: connect.CodePermissionDenied, 422: connect.CodeInvalidArgument} {
		keyless := serve(t, connectadapter.By(noKey(sent)))
		if _, err := keyless.call(t, unary, connect.WithGRPC()); connect.CodeOf(err) != want {
			t.Errorf("a call without its key, status %d: %v", sent, err)
		}
	}
	open := serve(t, connectadapter.By(routes{}, httplimit.WithError(httplimit.FailOpen)))
	if _, err := open.call(t, stream, connect.WithGRPC()); err != nil {
		t.Error(err)
	}
}
