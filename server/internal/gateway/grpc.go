package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/httplimit/wire"
)

// isGRPC reports whether a request's client speaks gRPC. It returns false for gRPC-Web, whose clients read the HTTP
// status.
func isGRPC(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.Header.Get("Content-Type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// writeGRPC answers a call with only a gRPC status, without a response message. A gRPC client would interpret the
// HTTP status 429 as an unavailable service.
func writeGRPC(w http.ResponseWriter, p *wire.Problem) {
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.Itoa(int(codeOf(p.Status))))
	h.Set("Grpc-Message", escape(message(p)))
	w.WriteHeader(http.StatusOK)
}

// message returns the text of a problem for clients of gRPC and Connect.
func message(p *wire.Problem) string {
	if len(p.Violated) == 0 {
		return p.Detail
	}
	return p.Detail + ": " + strings.Join(p.Violated, ", ")
}

// codeOf maps an HTTP status to a gRPC code as the gRPC specification does, with two exceptions: 429 is
// ResourceExhausted instead of Unavailable, and 400 is InvalidArgument instead of Internal, because a call that lacks
// its key is not the server's fault.
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

// escape encodes a message for a header, according to the gRPC specification.
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
