//go:build ignore

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-chi/httprate"
)

func main() {
	hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	handler := httprate.LimitByIP(2, time.Hour)(hello)
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		fmt.Println(w.Code, w.Header().Get("Retry-After") != "")
	}
}
