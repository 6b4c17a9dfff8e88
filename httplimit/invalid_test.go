package httplimit_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// A limit that is invalid or cannot charge requests is the program's mistake. New panics. If such a policy is chosen
// later, the response is a 500, even with FailOpen. It used to be a 400, as if the client were at fault.
func TestInvalidPolicyIsTheProgramsMistake(t *testing.T) {
	l := limiter(t)
	for name, text := range map[string]string{"anchor": "fixed-window 9/1h anchor 2026-01-31", "slots": "concurrency 3"} {
		limit, _ := headgate.ParseLimit(text) // the policy reports the error
		policy := l.Policy(name, limit)
		func() {
			defer func() {
				if reason := fmt.Sprint(recover()); !strings.Contains(reason, `httplimit: policy "`+name+`": `) {
					t.Errorf("New of %s: %s", name, reason)
				}
			}()
			httplimit.New(policy, httplimit.All())
		}()
		choose := httplimit.WithPolicy(func(*http.Request) *headgate.Policy { return policy })
		for _, options := range [][]httplimit.Option{{choose}, {choose, httplimit.WithError(httplimit.FailOpen)}} {
			w := get(httplimit.New(nil, httplimit.All(), options...)(hello))
			if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `policy \"`+name+`\"`) {
				t.Errorf("%s chosen: %d %s", name, w.Code, w.Body)
			}
		}
	}
}
