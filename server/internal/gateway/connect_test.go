package gateway

import (
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/codes"
)

// TestCallsOfConnect checks which requests get the errors of Connect. lab/adapters TestConnectThroughTheGateway checks
// the errors with the protocol's own client.
func TestCallsOfConnect(t *testing.T) {
	for _, c := range []struct {
		method, target, kind, version string
		want                          bool
	}{
		{"POST", "/a.B/C", "application/proto", "", true},
		{"POST", "/a.B/C", "application/json", "1", true},
		{"POST", "/a.B/C", "application/json", "", false},
		{"POST", "/a.B/C", "application/connect+json", "", true},
		{"POST", "/a.B/C", "application/grpc", "", false},
		{"POST", "/a.B/C", "application/grpc-web+proto", "", false},
		{"GET", "/a.B/C?encoding=json&connect=v1&message=", "", "", true},
		{"GET", "/a.B/C?connect=v10", "", "", false},
		{"GET", "/a.B/C", "application/proto", "1", false},
		{"PUT", "/a.B/C", "application/proto", "1", false},
	} {
		r := httptest.NewRequest(c.method, c.target, nil)
		r.Header.Set("Content-Type", c.kind)
		if c.version != "" {
			r.Header.Set("Connect-Protocol-Version", c.version)
		}
		if got := isConnect(r); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	for status := range 1000 {
		if code := codeOf(status); connectNames[code] == "" || code == codes.OK {
			t.Errorf("status %d has no code of Connect", status)
		}
	}
}
