package gateway

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/server/internal/service"
)

// connectStream begins the content types of streams of the Connect protocol.
const connectStream = "application/connect+"

// isConnect reports whether a request is a call of the Connect protocol. A unary call with JSON is known only by the
// protocol's own header or query field, because other APIs use the same content type.
func isConnect(r *http.Request) bool {
	switch kind := r.Header.Get("Content-Type"); r.Method {
	case http.MethodGet:
		return slices.Contains(strings.Split(r.URL.RawQuery, "&"), "connect=v1")
	case http.MethodPost:
		return strings.HasPrefix(kind, connectStream) || kind == "application/proto" || r.Header.Get("Connect-Protocol-Version") != ""
	default:
		return false
	}
}

type connectError struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
}

// connectNames are the codes that [codeOf] returns.
var connectNames = map[codes.Code]string{
	codes.ResourceExhausted: "resource_exhausted", codes.Unimplemented: "unimplemented", codes.InvalidArgument: "invalid_argument",
	codes.Unauthenticated: "unauthenticated", codes.PermissionDenied: "permission_denied", codes.Unavailable: "unavailable", codes.Unknown: "unknown",
}

// connectEnd is the message that ends a stream. Clients take the metadata of a stream's error from there.
type connectEnd struct {
	Error    connectError `json:"error"`
	Metadata http.Header  `json:"metadata,omitempty"`
}

// writeConnect answers a call with an error of the Connect protocol: a unary call with the problem's status, and a
// stream with the message that ends it.
func writeConnect(w http.ResponseWriter, p *wire.Problem, kind string) {
	failure := connectError{Code: connectNames[codeOf(p.Status)], Message: message(p)}
	h, status := w.Header(), p.Status
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	data, err := json.Marshal(failure)
	if strings.HasPrefix(kind, connectStream) {
		h.Set("Content-Type", kind)
		status = http.StatusOK
		if data, err = json.Marshal(connectEnd{failure, decisionOf(h)}); err == nil {
			data = append(binary.BigEndian.AppendUint32([]byte{2}, uint32(len(data))), data...) //nolint:gosec // a few hundred bytes
		}
	}
	if err != nil { // cannot happen: strings always encode
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	_, _ = w.Write(data) // a failed write means that the client is gone
}

func decisionOf(h http.Header) http.Header {
	decision := http.Header{}
	for name := range strings.SplitSeq(service.Exposed, ", ") {
		if values := h.Values(name); len(values) > 0 {
			decision[name] = values
		}
	}
	return decision
}
