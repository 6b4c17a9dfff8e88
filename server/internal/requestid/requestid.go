// Package requestid gives each request an id: the id sent by the client, or a new one. The answer and log lines about
// the request contain the id.
package requestid

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
)

const (
	// Header is the name of the header in HTTP requests and responses.
	Header = "X-Request-Id"
	// Metadata is the key in gRPC metadata.
	Metadata = "x-request-id"
	// MaxBytes is the maximum length of an id that a client can choose.
	MaxBytes = 128
)

// Of returns the id sent by a client if it consists of 1 to 128 printable ASCII characters. Otherwise it returns a new
// id of 26 letters and digits.
func Of(sent string) string {
	if !Valid(sent) {
		return rand.Text()
	}
	return sent
}

// Valid reports whether an id from a client consists of 1 to [MaxBytes] printable ASCII characters.
func Valid(sent string) bool {
	for i := range len(sent) {
		if sent[i] < ' ' || sent[i] > '~' {
			return false
		}
	}
	return len(sent) > 0 && len(sent) <= MaxBytes
}

type contextKey struct{}

// id is an id that is generated on first use.
type id struct {
	text string
	once sync.Once
}

// With returns a context with the id sent by a client. If that id is not valid, the first call of From generates one.
// Generating an id for every request would cost gRPC several percent of its speed.
func With(ctx context.Context, sent string) context.Context {
	return context.WithValue(ctx, contextKey{}, &id{text: sent})
}

// From returns a context's id. It returns "" if none exists, as for RESP requests.
func From(ctx context.Context) string {
	if ctx == nil {
		return ""
	}
	i, ok := ctx.Value(contextKey{}).(*id)
	if !ok {
		return ""
	}
	i.once.Do(func() { i.text = Of(i.text) })
	return i.text
}

// Handler gives each request its id before it calls the next handler.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := Of(r.Header.Get(Header)) //nolint:canonicalheader // it is canonical: net/http writes it like this
		w.Header().Set(Header, id)     //nolint:canonicalheader // it is canonical: net/http writes it like this
		next.ServeHTTP(w, r.WithContext(With(r.Context(), id)))
	})
}
