package adminapi

import (
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/jsontext"
)

// maxBody is the maximum size of a body in bytes. It is twice the size of the largest change's fields.
const maxBody = 128 << 10

// shape contains the bounds for the JSON in a body. The deepest body is a change with windows: fields, set, all, a
// limit, windows, a window.
var shape = jsontext.Bounds{Depth: 12, Elements: []int{1000}, Names: 64, Text: maxBody, Name: 1024, Number: 64}

// Error is the answer to a call that failed. Status is the HTTP status.
type Error struct {
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Field is the invalid field, or "".
	Field string `json:"field,omitempty"`
	// Code is the anchor in docs/reference/errors.md. If the handler leaves it empty, the server sends the code for the
	// status.
	Code string `json:"code,omitempty"`
}

func (e *Error) Error() string { return e.Detail }

// BadField returns the error for an invalid field.
func BadField(field, detail string) error {
	return &Error{Status: http.StatusBadRequest, Field: field, Detail: field + ": " + detail}
}

// NoPolicy returns the error for a policy that does not exist.
func NoPolicy(name string) error {
	return &Error{Status: http.StatusNotFound, Field: "policy", Detail: "no policy " + engine.Quote(name)}
}

// decode decodes a body into v. Content types other than JSON are errors, because the forms of other web pages cannot
// send JSON.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &Error{Status: http.StatusUnsupportedMediaType, Detail: "Content-Type is not application/json"}
	}
	data, err := jsontext.ReadAll(http.MaxBytesReader(w, r.Body, maxBody), jsontext.NewScanner(&shape), r.ContentLength, maxBody+1)
	if err == nil {
		err = jsontext.Decode("body", data, v)
	}
	var tooLarge *http.MaxBytesError
	var beyond *jsontext.BoundError
	var bad *jsontext.Error
	switch {
	case errors.As(err, &tooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("body is larger than %d KiB", maxBody>>10)}
	case errors.As(err, &beyond):
		return &Error{Status: http.StatusBadRequest, Detail: "body: " + beyond.Error()}
	case errors.As(err, &bad):
		return &Error{Status: http.StatusBadRequest, Field: bad.Field, Detail: bad.Detail}
	default:
		return err
	}
}

// Number returns a query parameter as a whole number from 1 to most. The argument without is the result if the query
// does not contain the parameter.
func Number(r *http.Request, name string, without, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, BadField(name, engine.Quote(text)+"; accepted: 1 to "+strconv.Itoa(most))
	}
	return n, nil
}

// Word returns a query parameter, which must be one of the accepted words. If the query does not contain the
// parameter, Word returns the first of them.
func Word(r *http.Request, name string, accepted ...string) (string, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return accepted[0], nil
	}
	if !slices.Contains(accepted, text) {
		return "", BadField(name, engine.Quote(text)+"; accepted: "+strings.Join(accepted, ", "))
	}
	return text, nil
}

// maxPage is the largest number of policies per page.
const maxPage = 1000

// Page returns the part of a list that the query selects: n policies, starting at position from (1 for the first).
// Only policies whose lower-case names contain part are counted. Without a query, the page is the whole list.
func Page(r *http.Request) (from, n int, part string, err error) {
	if n, err = Number(r, "n", math.MaxInt32, maxPage); err != nil {
		return 0, 0, "", err
	}
	from, err = Number(r, "from", 1, math.MaxInt32)
	return from, n, strings.ToLower(r.URL.Query().Get("name")), err
}
