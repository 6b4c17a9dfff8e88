package gateway

import (
	"fmt"
	"io"
	"net/http"

	"golang.org/x/net/http/httpguts"
)

// trailers are the trailers of a request. The upstream gets only those that the request announced, because [invalid]
// has checked their names before the request was charged.
type trailers struct{ in, out http.Header }

func newTrailers(in http.Header) *trailers {
	t := &trailers{in, make(http.Header, len(in))}
	for name := range in {
		t.out[name] = nil
	}
	return t
}

// copy copies the values at the end of the body, and returns [io.EOF]. An invalid value is an error of the client's
// body: an upstream would end the stream or the connection.
func (t *trailers) copy() error {
	for name := range t.out {
		for _, value := range t.in[name] {
			if !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("trailer %s has a control character", name)
			}
		}
		t.out[name] = t.in[name]
	}
	return io.EOF
}
