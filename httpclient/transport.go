package httpclient

import (
	"container/list"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// The defaults and bounds of a [Transport].
const (
	// DefaultMaxWait is the longest time that a request can wait before it is sent.
	DefaultMaxWait = 30 * time.Second
	// DefaultRetries is the number of times that a denied request is retried.
	DefaultRetries = 2
	// MaxHosts is the maximum number of hosts whose state a transport keeps. Beyond it, the transport drops the least
	// recently used host.
	MaxHosts = 1000
)

// Transport is an [http.RoundTripper] that respects the rate limits of servers. It is safe for concurrent use.
//
// It reads RateLimit and RateLimit-Policy, the headers of their older drafts (RateLimit-Remaining and -Reset),
// X-RateLimit-… and X-Rate-Limit-…, and Retry-After. Times can be in each form that [wire.ReadWait] accepts, and
// numbers can have fractions. Malformed headers are ignored. While more than half of a quota
// remains, requests are not delayed. When less remains, they are spread over the time until the reset, but at least one
// is sent per second. When nothing remains, they wait for the reset. Until a host's first response, at most 8 requests
// are in flight.
//
// A response with status 429, or with 403 or 503 and a Retry-After, is a denial. No request is sent to the host until
// the Retry-After, or without one until the reset of the limits that the response reports as spent, or else for a
// second. The denied request is retried up to [DefaultRetries] times if it is idempotent and its body can be recreated
// ([http.Request].GetBody). The number of retries to a host is at most a tenth of its requests plus 10. If a request is
// not retried, the caller gets the response.
//
// A request that would have to wait longer than [DefaultMaxWait], or past its deadline, is not sent, and its error
// matches [ErrLimited]. It fails as soon as this is known, even if other requests are ahead in the queue.
type Transport struct {
	base    http.RoundTripper
	maxWait time.Duration
	retries int
	scopeOf func(*http.Request) string

	mu     sync.Mutex
	scopes map[string]*list.Element
	used   list.List // elements are *known, most recently used first
}

type known struct {
	name  string
	scope *scope
}

// Option changes a [Transport].
type Option func(*Transport)

// WithMaxWait sets how long a request can wait before it is sent or retried. If it is 0, every request that would have
// to wait fails.
func WithMaxWait(longest time.Duration) Option {
	return func(t *Transport) { t.maxWait = max(0, longest) }
}

// WithRetries sets how many times a denied request is retried: 0 to 10. Values outside this range are clamped.
func WithRetries(n int) Option { return func(t *Transport) { t.retries = min(10, max(0, n)) } }

// WithScope sets which requests share a server's limit: those for which scope returns the same string. By default,
// requests to the same host share a limit. If a program uses several credentials for one host, include the credential
// in the string. If scope is nil, the default applies.
func WithScope(scope func(*http.Request) string) Option {
	if scope == nil {
		scope = host
	}
	return func(t *Transport) { t.scopeOf = scope }
}

// New returns a transport that sends requests through base. If base is nil, it is [http.DefaultTransport]. New panics if
// an option is nil.
func New(base http.RoundTripper, options ...Option) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &Transport{base: base, maxWait: DefaultMaxWait, retries: DefaultRetries, scopeOf: host, scopes: map[string]*list.Element{}}
	for _, option := range options {
		if option == nil {
			panic("httpclient: an option is nil; accepted: the result of WithMaxWait, WithRetries or WithScope")
		}
		option(t)
	}
	return t
}

// host returns the host of a request. A request without a URL gets the error of the base transport.
func host(r *http.Request) string {
	if r.URL == nil {
		return ""
	}
	return r.URL.Host
}

// errNotMade is the error of a Transport that New did not make, such as &Transport{}.
var errNotMade = engine.InvalidInput("transport", "not set", "the result of httpclient.New")

// ErrLimited is the error that every [LimitedError] matches: see [errors.Is].
var ErrLimited = errors.New("httpclient: rate limit")

// LimitedError is the error for a request that was not sent, because the server's limit would make it wait longer
// than the client permits.
type LimitedError struct {
	// RetryAfter is the shortest time until a request can fit.
	RetryAfter time.Duration
	cause      error
}

// Error reports when the next request can fit.
func (e *LimitedError) Error() string {
	return ErrLimited.Error() + ": not sent: the server's limit admits the next request in " + e.RetryAfter.Round(time.Millisecond).String() + ", which is longer than it may wait"
}

// Is makes every LimitedError match ErrLimited.
func (e *LimitedError) Is(target error) bool { return target == ErrLimited }

// Unwrap returns [context.DeadlineExceeded] if the request's deadline is before the end of the wait.
func (e *LimitedError) Unwrap() error { return e.cause }

// RoundTrip sends a request as soon as it fits.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t == nil || t.base == nil {
		closeBody(r)
		return nil, errNotMade
	}
	s := t.scope(t.scopeOf(r))
	for try, sent := 0, r; ; try++ {
		ticket, err := s.enter(r.Context(), t.maxWait)
		if err != nil {
			closeBody(sent)
			return nil, err
		}
		answer, err := t.send(s, ticket, sent)
		if err != nil || answer == nil || !t.shouldRetry(r, answer, s, try) {
			return answer, err
		}
		next, err := again(r)
		if err != nil {
			return answer, nil //nolint:nilerr // the body cannot be recreated, so the denial is the answer
		}
		drain(answer)
		sent = next
	}
}

// send sends a request and records the response, also that there is none if the base transport panics.
func (t *Transport) send(s *scope, ticket int64, r *http.Request) (answer *http.Response, err error) {
	defer func() { s.leave(ticket, answer) }()
	return t.base.RoundTrip(r)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// CloseIdleConnections closes the idle connections of the base transport. [http.Client] calls it.
func (t *Transport) CloseIdleConnections() {
	if t == nil {
		return
	}
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// scope returns the scope with the given name, and creates it if necessary.
func (t *Transport) scope(name string) *scope {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.scopes[name]; ok {
		t.used.MoveToFront(e)
		return e.Value.(*known).scope
	}
	if len(t.scopes) >= MaxHosts {
		oldest := t.used.Back()
		delete(t.scopes, t.used.Remove(oldest).(*known).name)
	}
	s := newScope()
	t.scopes[name] = t.used.PushFront(&known{name: name, scope: s})
	return s
}
