package service_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// openUsers writes a users file and opens it. The format has a verb for the SHA-256 hash of each secret.
func openUsers(t *testing.T, format string, secrets ...string) *users.File {
	t.Helper()
	var hashes []any
	for _, secret := range secrets {
		hashes = append(hashes, sha256.Sum256([]byte(secret)))
	}
	file := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, format, hashes...), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := users.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRightsToEachItem checks that a user needs the right to each policy of a request, and to inline limits.
func TestRightsToEachItem(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte("policies: {api: 9/s, other: 9/s}"))
	if err != nil {
		t.Fatal(err)
	}
	f := openUsers(t, "users:\n  shop: {sha256: [%x], may: [decide], policies: [api], inline: false}\n", "shop")
	limiter := core.New(core.Config{})
	defer limiter.Close()
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true})
	api, other := decide.Item{Policy: "api", Key: "k"}, decide.Item{Policy: "other", Key: "k"}
	inline := decide.Item{Limit: rule.TokenBucket(rule.PerSecond(9)), Key: "k"}
	for i, c := range []struct {
		items   []decide.Item
		allowed bool
	}{{[]decide.Item{api, api}, true}, {[]decide.Item{api, other}, false}, {[]decide.Item{other, api}, false}, {[]decide.Item{api, inline}, false}} {
		answers := make([]decide.Response, 1)
		s.Do(users.With(t.Context(), f.Of("shop")), service.RESP, []decide.Request{{Kind: engine.OpAllow, Items: c.items}}, answers)
		refused, _ := errors.AsType[*service.Error](answers[0].Err)
		if answers[0].Allowed != c.allowed || (refused != nil && refused.Code == service.Forbidden) == c.allowed {
			t.Errorf("%d: %+v", i, answers[0])
		}
	}
}
