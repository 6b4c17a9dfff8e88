package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/httplimit"
)

// isGRPC reports whether the client of a request speaks gRPC. A client of gRPC-Web reads
// the status of HTTP.
func isGRPC(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.Header.Get("Content-Type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// writeGRPC answers a call with a status of gRPC and no message. A client of gRPC would make
// of 429 that the service is unavailable.
func writeGRPC(w http.ResponseWriter, p *httplimit.Problem) {
	message := p.Detail
	if len(p.Violated) > 0 {
		message += ": " + strings.Join(p.Violated, ", ")
	}
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.Itoa(int(codeOf(p.Status))))
	h.Set("Grpc-Message", escape(message))
	w.WriteHeader(http.StatusOK)
}

// codeOf returns what the specification of gRPC makes of a status of HTTP, but for a rate limit, which is a
// quota, and for a call that lacks its key, which is no fault of a server.
func codeOf(status int) codes.Code {
	switch status {
	case http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case http.StatusNotFound:
		return codes.Unimplemented
	case http.StatusBadRequest:
		return codes.InvalidArgument
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return codes.Unavailable
	default:
		return codes.Unknown
	}
}

// escape writes a message as the specification of gRPC wants it in a header.
func escape(message string) string {
	var b strings.Builder
	for _, c := range []byte(message) {
		if c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
