// This program is a web service with its limits in a file. A headgate server can use the same file.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

//go:embed limits.yaml
var limits []byte // policy.Load reads a file from disk

func main() {
	url := flag.String("store", open.Memory, "where counters are kept: memory, or the URL of a Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, url string) error {
	config, err := policy.Parse("limits.yaml", limits)
	if err != nil {
		return err
	}
	store, err := open.URL(ctx, url, open.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	limiter := filelimit.New(config, headgate.New(headgate.WithStore(store), headgate.WithSpace("example-policies-file")))

	// On Redis, the units that the previous run spent still count.
	if _, err := limiter.Reset(ctx, "reply", "laoqian"); err != nil {
		return err
	}
	service := limited(limiter, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, user := range []string{"laoqian", "laoqian", "laoqian", "laoqian", "moderator-7"} {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/replies", nil)
		r.Header.Set("X-User", user)
		answer := httptest.NewRecorder()
		service.ServeHTTP(answer, r)
		fmt.Fprintln(w, user, answer.Code)
	}
	return nil
}

// limited is middleware that applies the file's routes.
func limited(limiter *filelimit.Limiter, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := limiter.AllowRequest(r)
		switch {
		case errors.Is(err, httplimit.ErrNoKey): // the error names the missing part of the key
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, "the limit is not known", http.StatusServiceUnavailable)
		case !d.Allowed:
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
