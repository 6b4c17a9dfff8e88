package problem

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWithoutPages checks that requests sent by a browser for a web page get a 403, and that others reach the handler.
func TestWithoutPages(t *testing.T) {
	handler := WithoutPages(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }, func() {})
	for header, want := range map[string]int{
		"Origin: http://elsewhere.example": http.StatusForbidden, "Origin: null": http.StatusForbidden,
		"Sec-Fetch-Site: cross-site": http.StatusForbidden, "Sec-Fetch-Site: same-site": http.StatusForbidden,
		"Sec-Fetch-Site: none": http.StatusOK, "Sec-Fetch-Site: same-origin": http.StatusOK, "Accept: */*": http.StatusOK,
	} {
		name, value, _ := strings.Cut(header, ": ")
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		if handler(w, r); w.Code != want || want == http.StatusForbidden && w.Header().Get("Connection") != "close" {
			t.Errorf("%s: %d %v, want %d", header, w.Code, w.Header(), want)
		}
	}
}
