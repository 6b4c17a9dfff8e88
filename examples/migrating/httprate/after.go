//go:build ignore

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

func main() {
	perIP := headgate.New().Policy("per-ip", headgate.SlidingWindow{Rate: headgate.PerHour(2)})
	hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	handler := httplimit.New(perIP, httplimit.ByIP())(hello)
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		fmt.Println(w.Code, w.Header().Get("Retry-After") != "")
	}
}
