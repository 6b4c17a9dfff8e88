package httpclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/httpclient"
)

// The longest hold that the server announced stays in force. A later response with a shorter hold does not replace it,
// because it answers a request that was sent before the longer hold was announced.
func TestLongestHoldStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{steps: []func(http.ResponseWriter, *http.Request){
			answering(429, "Retry-After", "25"),
			func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(1200 * time.Millisecond)
				answering(429, "Retry-After", "1")(w, r)
			},
			answering(200),
		}}
		client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server}, httpclient.WithRetries(0))}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if code, err := get(t.Context(), client); code != 429 || err != nil {
					t.Error(code, err)
				}
			})
			synctest.Wait()
		}
		both.Wait()
		start := time.Now()
		if code, err := get(t.Context(), client); code != 200 || err != nil || time.Since(start) < 23*time.Second {
			t.Errorf("%d %v after %s, want a wait of 25s from the first denial", code, err, time.Since(start))
		}
	})
}

// A caller whose deadline is before the end of the server's hold fails immediately, even if another caller is ahead of
// it in the queue, or if the server announces the hold while the caller waits.
func TestDeadlineBehindAnotherCaller(t *testing.T) {
	for name, announced := range map[string]time.Duration{"before": 0, "meanwhile": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := func(w http.ResponseWriter, r *http.Request) {
					time.Sleep(announced)
					answering(429, "Retry-After", "20")(w, r)
				}
				server := &script{steps: []func(http.ResponseWriter, *http.Request){answering(200, "RateLimit", `"p";r=1;t=10`), slow, answering(200)}}
				client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server}, httpclient.WithRetries(0))}
				var others sync.WaitGroup
				defer others.Wait()
				if code, err := get(t.Context(), client); code != 200 || err != nil {
					t.Fatal(code, err)
				}
				for range 2 { // one in flight, one waiting
					others.Go(func() { _, _ = get(t.Context(), client) })
				}
				if announced == 0 {
					time.Sleep(time.Second)
				}
				synctest.Wait()
				start := time.Now()
				soon, cancel := context.WithTimeout(t.Context(), 12*time.Second)
				defer cancel()
				_, err := get(soon, client)
				if !errors.Is(err, httpclient.ErrLimited) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > announced+time.Second {
					t.Errorf("%v after %s", err, time.Since(start))
				}
			})
		})
	}
}

// A caller whose deadline passes while it waits also gets the documented error.
func TestDeadlineWhileTheServerIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		server := &handlerTransport{handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-first })}
		client := &http.Client{Transport: httpclient.New(server)}
		var others sync.WaitGroup
		for range 9 {
			others.Go(func() { _, _ = get(t.Context(), client) })
		}
		synctest.Wait()
		soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := get(soon, client); !errors.Is(err, httpclient.ErrLimited) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(first)
		others.Wait()
	})
}

// A denial with an endless body does not block other requests, because the client reads a bounded number of bytes.
func TestDenialWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		base := roundTripper(func(*http.Request) (*http.Response, error) {
			if asked++; asked > 1 {
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			}
			body, _ := io.Pipe()
			return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"2"}}, Body: body}, nil
		})
		start := time.Now()
		code, err := get(t.Context(), &http.Client{Transport: httpclient.New(base)})
		if code != 200 || err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("%d %v after %s", code, err, time.Since(start))
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A base that breaks the rules of RoundTripper, as in a test, is reported by http.Client.
func TestBaseWithoutAResponse(t *testing.T) {
	base := roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }) //nolint:nilnil // the base under test breaks this rule
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := httpclient.New(base).RoundTrip(r); answer != nil || err != nil { //nolint:bodyclose // there is no response
		t.Error(answer, err)
	}
}

// A base transport that panics is no request in flight: the ninth request to a server that is not known yet does not
// wait. A denial without a body, as of a test's transport, is retried.
func TestBaseThatMisbehaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		transport := httpclient.New(roundTripper(func(*http.Request) (*http.Response, error) {
			switch calls++; {
			case calls <= 8:
				panic("base")
			case calls == 9:
				return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"0"}}}, nil
			default:
				return &http.Response{StatusCode: http.StatusOK}, nil
			}
		}))
		send := func() (*http.Response, error) {
			defer func() { _ = recover() }()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/", http.NoBody)
			return transport.RoundTrip(r)
		}
		start := time.Now()
		for range 8 {
			_, _ = send() //nolint:bodyclose // there is none
		}
		answer, err := send() //nolint:bodyclose // there is none
		if err != nil || answer == nil || answer.StatusCode != http.StatusOK || time.Since(start) != 0 {
			t.Errorf("%+v, %v after %s", answer, err, time.Since(start))
		}
	})
}
