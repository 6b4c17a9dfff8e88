package admin

import (
	"encoding/json"
	"net/http"
)

// problem is an error as RFC 9457 defines it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Field is the invalid field of the request; absent if the error is not about one.
	Field string `json:"field,omitempty"`
}

func writeProblem(w http.ResponseWriter, status int, field, detail string) {
	write(w, status, "application/problem+json", problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Field: field})
}

func writeJSON(w http.ResponseWriter, v any) { write(w, http.StatusOK, "application/json", v) }

func write(w http.ResponseWriter, status int, contentType string, v any) {
	data, err := json.Marshal(v)
	if err != nil { // no value of this package fails
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
