package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/internal/jsontext"
	"github.com/headgate/headgate/policy"
)

// maxBody is the size of the largest body in bytes: the fields of a change, with room for
// what is beside them.
const maxBody = 2 * policy.MaxChangeBytes

// decode reads a body into the fields of v. Unknown fields are errors, and so is any other
// content type than JSON: a form of a web page cannot send that.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &refusal{http.StatusUnsupportedMediaType, "", "Content-Type is not application/json"}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return err
	}
	if err := jsontext.Check(data); err != nil {
		return &refusal{http.StatusBadRequest, "", "body: " + err.Error()}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return badField(cut(mismatch.Field), "must not be a JSON "+mismatch.Value)
		}
		return &refusal{http.StatusBadRequest, "", "body: " + cut(strings.TrimPrefix(err.Error(), "json: "))}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return &refusal{http.StatusBadRequest, "", "body must be one JSON object with nothing after it"}
	}
	if name, found := jsontext.Twice(data); found { // it reads valid JSON alone
		return badField(cut(name), "stands twice in one object; accepted: each name once")
	}
	return nil
}

// maxShown is how many bytes of a caller's text an answer repeats.
const maxShown = 256

// cut returns the beginning of a caller's text.
func cut(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

// keyFields are a key in JSON: as text, or as base64 if it is not valid UTF-8.
type keyFields = topkeys.KeyJSON

func newKey(key string) keyFields { return topkeys.NewKeyJSON(key) }

// number returns a whole number of the query.
func number(r *http.Request, name string, without, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, badField(name, strconv.Quote(cut(text))+"; accepted: 1 to "+strconv.Itoa(most))
	}
	return n, nil
}

// word returns a word of the query that is one of those accepted; the first is the default.
func word(r *http.Request, name string, accepted ...string) (string, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return accepted[0], nil
	}
	for _, a := range accepted {
		if text == a {
			return a, nil
		}
	}
	return "", badField(name, strconv.Quote(cut(text))+"; accepted: "+strings.Join(accepted, ", "))
}
