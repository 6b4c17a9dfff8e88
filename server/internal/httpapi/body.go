package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/service"
)

const (
	// maxBody is the maximum size of a body in bytes.
	maxBody = 1 << 20
	// smallBody is the maximum size in bytes of a body whose buffer is allocated before the body arrives.
	smallBody = 4 << 10
)

// shape bounds the nesting and the sizes in a body. Valid bodies have at most 10 levels: the body, requests, a request,
// charges, a charge, its limit, all, a limit, windows, a window.
var shape = jsontext.Bounds{
	Depth: 10, Elements: []int{engine.MaxOps, engine.MaxCharges}, Names: 32, Text: 64 << 10, Name: 256, Number: 64,
}

// newScanner returns a scanner for a body. An inline limit in the body ends the scan with the error limits, unless
// limits is nil.
func newScanner(limits error) *jsontext.Scanner {
	if limits == nil {
		return jsontext.NewScanner(&shape)
	}
	bounds := shape
	bounds.Field = func(depth int, name []byte) error {
		if depth%2 == 1 && depth <= depthOfCharge && bytes.EqualFold(name, []byte("limit")) {
			return &service.Error{Code: service.Forbidden, Field: "limit", Err: limits}
		}
		return nil
	}
	return jsontext.NewScanner(&bounds)
}

// depthOfCharge is the depth of the fields of a charge in a batch. The fields of a request are at depth 1, and the
// fields of a charge in a single request at depth 3. The fields of a limit are at even depths.
const depthOfCharge = 5

// readBody reads the body. If its length is known and small, it reads the body at once. Otherwise it scans the body
// as it arrives, and stops at the first byte beyond a bound.
func readBody(w http.ResponseWriter, r *http.Request, limits error) (data []byte, scanned bool, err error) {
	switch n := r.ContentLength; {
	case n > maxBody:
		problem.Unread(w, r)
		return nil, true, &http.MaxBytesError{Limit: maxBody}
	case n > 0 && n <= smallBody:
		data = make([]byte, n)
		_, err := io.ReadFull(r.Body, data)
		return data, false, err
	}
	data, err = jsontext.ReadAll(http.MaxBytesReader(w, r.Body, maxBody), newScanner(limits), r.ContentLength, maxBody+1)
	return data, true, refusal(err)
}

// refusal converts an error from reading a body to the error for the client. If the body exceeded a bound, the error
// uses the API's wording.
func refusal(err error) error {
	if bad, ok := errors.AsType[*jsontext.Error](err); ok {
		return badField(bad.Field, bad.Detail)
	}
	bound, ok := errors.AsType[*jsontext.BoundError](err)
	switch {
	case !ok:
		return err
	case bound.Array == "requests":
		return badField("requests", batchAccepted)
	case bound.Array == "charges":
		return badField("charges", chargesAccepted)
	default:
		return badField("", "body: "+bound.Error())
	}
}

const batchAccepted = "requests: 1 to 1000 in one batch"
