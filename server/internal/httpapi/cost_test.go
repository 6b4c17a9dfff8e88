package httpapi_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/costtest"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
)

// serving starts a server with a single policy, api, and returns its address.
func serving(t *testing.T) (address string) {
	t.Helper()
	limiter := core.New(core.Config{})
	c, err := policy.Parse("p.yaml", []byte("policies: {api: 1000000000/s}"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(service.New(service.Config{Limiter: limiter, Policies: c.Policies})))
	t.Cleanup(func() {
		server.Close()
		_ = limiter.Close()
	})
	return server.Listener.Addr().String()
}

// otherKeys returns charges with different keys.
func otherKeys(n int) string {
	charges := make([]string, n)
	for i := range charges {
		charges[i] = fmt.Sprintf(`{"policy":"api","key":"%d"}`, i)
	}
	return strings.Join(charges, ",")
}

// TestCostOfBodies (regression: bug 69): a byte of a body costs at most costtest.Most times as much as a byte of a plain
// take.
func TestCostOfBodies(t *testing.T) {
	raw := costtest.Raw(t, serving(t), costtest.HTTP)
	input := func(name, body string) costtest.Input {
		return raw(name, fmt.Sprintf("POST /v1/allow HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	}
	list := func(element string, n int) string {
		return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
	}
	batch := func(name, element string) costtest.Input {
		return input(name, `{"requests":[`+list(element, min(1000, 100_000/len(element)))+`]}`)
	}
	costtest.Compare(t, input("plain", `{"policy":"api","key":"customer-17","cost":1}`),
		batch("a full batch", `{"policy":"api","key":"a"}`),
		batch("empty requests", `{}`),
		batch("numbers for requests", `1`),
		batch("unknown fields", `{"a":1}`),
		batch("fields of another type", `{"key":1}`),
		batch("unknown policies", `{"policy":"x","key":"a"}`),
		batch("limits as texts", `{"limit":"1/s","key":"a"}`),
		batch("limits as fields", `{"limit":{"deny":true},"key":"a"}`),
		batch("charges", `{"charges":[{"policy":"api","key":"a"}]}`),
		batch("32 charges", `{"charges":[`+list(`{"policy":"api","key":"a"}`, 32)+`]}`),
		batch("32 charges with limits", `{"charges":[`+list(`{"limit":"1/s","key":"a"}`, 32)+`]}`),
		batch("32 charges of other keys", `{"charges":[`+otherKeys(32)+`]}`),
		batch("empty charges", `{"charges":[`+list(`{}`, 32)+`]}`),
		batch("32 limits", `{"limit":{"all":[`+list(`"1/s"`, 32)+`]},"key":"a"}`),
		batch("32 limits as fields", `{"limit":{"all":[`+list(`{"deny":true}`, 32)+`]},"key":"a"}`),
		batch("32 limits without fields", `{"limit":{"all":[`+list(`{}`, 32)+`]},"key":"a"}`),
		input("32 windows", `{"key":"a","limit":{"algorithm":"sliding-log","windows":[`+list(`{}`, 32)+`]}}`),
		// The server rejects these inputs at the first byte beyond a bound, so the client does not have to send the
		// rest.
		input("more requests", `{"requests":[`+list(`{}`, 1000)+`,`+strings.Repeat(" ", 4<<10)),
		input("more limits", `{"key":"a","limit":{"all":[`+list(`{}`, 33)+`]}}`),
		input("more fields", `{`+list(`"a":1`, 33)+`}`),
		input("deeper nesting", strings.Repeat(`{"limit":`, 9)+strings.Repeat("}", 9)),
		input("a long name", `{"`+strings.Repeat("a", 300)+`":1}`),
		input("a long number", `{"cost":`+strings.Repeat("1", 100)+`}`),
		// The server reads these inputs to the end.
		input("a long key", `{"policy":"api","key":"`+strings.Repeat("k", 60_000)+`"}`),
		input("a long key of escapes", `{"policy":"api","key":"`+strings.Repeat(`\u0061`, 10_000)+`"}`),
		input("a long limit", `{"key":"a","limit":"1/s`+strings.Repeat(" burst 2", 8000)+`"}`),
		input("spaces", `{"key":"a",`+strings.Repeat(" ", 1_000_000)+`"policy":"api"}`),
	)
}
