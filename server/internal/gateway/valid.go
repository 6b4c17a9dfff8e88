package gateway

import (
	"net/http"
	"strconv"

	"golang.org/x/net/http/httpguts"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/policy/route"
)

// entryBytes is what HTTP/2 adds to the length of each header's name and value.
const entryBytes = 32

// invalid returns the refusal of a request that no transport would send to an upstream, or nil. Such a request must end
// here: otherwise it would be charged first, and then count as a failure of its upstream (bug 92).
func (g *Gateway) invalid(r *http.Request) *wire.Problem {
	wrong := func(field, value, accepted string) *wire.Problem {
		p := wire.NewProblem(http.StatusBadRequest, "", engine.InvalidInput(field, engine.Quote(value), accepted).Error())
		return &p
	}
	if !route.IsToken(r.Method) {
		return wrong("method", r.Method, "letters, such as GET")
	}
	if r.Host == "" {
		return wrong("host", "", "a name or an address") // the upstream would get its own address instead
	}
	for name := range r.Trailer {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidTrailerHeader(name) || g.identifies(name) {
			return wrong("trailer", name, "the name of a header that says nothing about the client, and that no route reads")
		}
	}
	size := 0
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return wrong("header", name, "a name of letters, digits and hyphens")
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return wrong("header "+name, value, "a value without control characters")
			}
			size += len(name) + len(value) + entryBytes
		}
	}
	if size > maxHeaderBytes {
		p := tooLarge("up to " + strconv.Itoa(maxHeaderBytes) + " bytes, with 32 for each header")
		return &p
	}
	if err := route.CheckConnection(r.Header); err != nil {
		p := wire.NewProblem(http.StatusBadRequest, "", err.Error())
		return &p
	}
	return nil
}

// identifies reports whether a header says who sends a request. Some servers add trailers to the headers, so in a
// trailer it would arrive although routes have not read it.
func (g *Gateway) identifies(name string) bool {
	plain := plainName(name)
	return describes(plain) || plain == "Cookie" || g.config.Service.Reads(plain)
}

func tooLarge(accepted string) wire.Problem {
	return wire.NewProblem(http.StatusRequestHeaderFieldsTooLarge, "", "the headers of this request are too large; accepted: "+accepted)
}
