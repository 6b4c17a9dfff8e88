//go:build ignore

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

func main() {
	perIP := limiter.New(memory.NewStore(), limiter.Rate{Period: time.Hour, Limit: 2})
	hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	handler := stdlib.NewMiddleware(perIP).Handler(hello)
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		fmt.Println(w.Code, w.Header()["X-Ratelimit-Limit"], w.Header()["X-Ratelimit-Remaining"])
	}
}
