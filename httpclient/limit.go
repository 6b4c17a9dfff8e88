package httpclient

import (
	"net/http"
	"strings"

	"github.com/headgate/headgate"
)

// Limit returns a transport that sends each request as soon as a policy of this program allows it. Use it for servers
// that have known limits but send no rate-limit headers. Processes with the same policy on one store share the limit.
// The function key returns the key of a request. If key is nil, the host is the key.
//
// A request waits like [headgate.Policy.Wait], until its context ends, so give requests a deadline. If the deadline is
// before the end of the wait, the request is not sent, and the error matches [headgate.ErrDenied]. If base is nil, it
// is [http.DefaultTransport]. Limit panics if the policy is invalid: see [headgate.Policy.Err].
func Limit(base http.RoundTripper, policy *headgate.Policy, key func(*http.Request) string) http.RoundTripper {
	if err := policy.Err(); err != nil {
		panic("httpclient: " + strings.TrimPrefix(err.Error(), "headgate: "))
	}
	if base == nil {
		base = http.DefaultTransport
	}
	if key == nil {
		key = host
	}
	return &limited{base: base, policy: policy, key: key}
}

type limited struct {
	base   http.RoundTripper
	policy *headgate.Policy
	key    func(*http.Request) string
}

// RoundTrip waits until the policy allows the request, then sends it.
func (l *limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := l.policy.Wait(r.Context(), l.key(r)); err != nil {
		closeBody(r)
		return nil, err
	}
	return l.base.RoundTrip(r)
}
