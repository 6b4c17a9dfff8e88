package daemon_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

const guardedPolicies = "policies: {shop: 100/s, other: 100/s}\nroutes: [{match: {path: /**}, key: [{const: all}], policies: [shop]}]\n"

// guardedServer starts a server with the users shop, which may use one policy and bring no
// limits, and ops, which may administer too. Their secrets are their names.
func guardedServer(t *testing.T, more string) (d *daemon.Daemon) {
	t.Helper()
	hash := func(secret string) string {
		digest := sha256.Sum256([]byte(secret))
		return hex.EncodeToString(digest[:])
	}
	file := filepath.Join(t.TempDir(), "users.yaml")
	text := fmt.Sprintf("users: {shop: {sha256: [%s], may: [take], policies: [shop], inline: false}, ops: {sha256: [%s], may: [take, administer]}%s}", hash("shop"), hash("ops"), more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse("x.yaml", []byte(guardedPolicies))
	if err != nil {
		t.Fatal(err)
	}
	d, err = daemon.New(t.Context(), daemon.Config{
		RESP: "127.0.0.1:0", HTTP: "127.0.0.1:0", GRPC: daemon.GRPC{Address: "127.0.0.1:0"}, Base: config,
		Users: daemon.UsersFiles{RESP: file, HTTP: file, GRPC: file}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- d.Run(ctx, ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestUsersOverHTTP(t *testing.T) {
	d := guardedServer(t, "")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(path, body, secret string) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.HTTPAddr().String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body == "" {
			r.Method = http.MethodGet
		}
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		answer, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(answer), response.Header
	}
	for _, c := range []struct {
		path, body, secret string
		want               int
	}{
		{"/v1/take", `{"policy":"shop","key":"k"}`, "shop", 200},
		{"/v1/take", `{"policy":"other","key":"k"}`, "shop", 403},
		{"/v1/take", `{"limit":"1/s","key":"k"}`, "shop", 403},
		{"/v1/give", `{"policy":"shop","key":"k"}`, "shop", 403},
		{"/v1/take", `{"policy":"shop","key":"k"}`, "", 401},
		{"/v1/take", `{"policy":"shop","key":"k"}`, "no", 401},
		{"/v1/policies", "", "", 401},
		{"/v1/policies", "", "shop", 200},
		{"/v1/take", `{"limit":"1/s","key":"k"}`, "ops", 200},
		{"/v1/give", `{"policy":"shop","key":"k"}`, "ops", 200},
		{"/v1/reset", `{"policy":"other","key":"k"}`, "ops", 200},
		{"/healthz", "", "", 200},
		{"/readyz", "", "", 200},
		{"/v1/authorize", "", "", 400}, // it believes trusted proxies, and this one says nothing
	} {
		status, body, header := post(c.path, c.body, c.secret)
		if status != c.want || status == 401 && header.Get("WWW-Authenticate") == "" || status > 400 && !strings.Contains(body, "accepted: ") {
			t.Errorf("%s %s as %q: %d %s, want %d", c.path, c.body, c.secret, status, body, c.want)
		}
	}
}

func TestUsersOverRESP(t *testing.T) {
	d := guardedServer(t, "")
	ctx := t.Context()
	as := func(name, secret string, protocol int) *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: d.RESPAddr().String(), Username: name, Password: secret, Protocol: protocol, DisableIdentity: true, MaxRetries: -1})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	for _, protocol := range []int{2, 3} {
		shop, ops := as("shop", "shop", protocol), as("ops", "ops", protocol)
		for _, c := range []struct {
			client *redis.Client
			args   []any
			want   string // of the error
		}{
			{shop, []any{"HEADGATE.TAKE", "shop", "k"}, ""},
			{shop, []any{"HEADGATE.TAKE", "other", "k"}, "may not use the policy"},
			{shop, []any{"CL.THROTTLE", "k", 1, 2, 3}, "limits of their own"},
			{shop, []any{"DEL", "k"}, "may not give units back"},
			{ops, []any{"CL.THROTTLE", "k", 1, 2, 3}, ""},
			{ops, []any{"DEL", "k"}, ""},
			{as("shop", "ops", protocol), []any{"PING"}, "WRONGPASS"},
			{as("", "shop", protocol), []any{"PING"}, "WRONGPASS"},
			{as("", "", protocol), []any{"PING"}, "NOAUTH"},
			{as("", "", protocol), []any{"CL.THROTTLE", "k", 1, 2, 3}, "NOAUTH"},
		} {
			err := c.client.Do(ctx, c.args...).Err()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("RESP%d %v: %v, want %q", protocol, c.args, err, c.want)
			}
		}
	}
	// In one connection: AUTH changes the user, a wrong one does not, RESET forgets it.
	conn := as("", "", 2).Conn()
	defer conn.Close()
	for _, step := range []struct {
		args []any
		want string
	}{
		{[]any{"AUTH", "shop", "shop"}, ""},
		{[]any{"DEL", "k"}, "may not give"},
		{[]any{"AUTH", "ops", "ops"}, ""},
		{[]any{"DEL", "k"}, ""},
		{[]any{"AUTH", "ops", "shop"}, "WRONGPASS"},
		{[]any{"DEL", "k"}, ""},
		{[]any{"RESET"}, ""},
		{[]any{"DEL", "k"}, "NOAUTH"},
	} {
		if err := conn.Do(ctx, step.args...).Err(); (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("%v: %v, want %q", step.args, err, step.want)
		}
	}
}

func TestUsersOverGRPC(t *testing.T) {
	d := guardedServer(t, ", default: {may: [administer]}")
	connection, err := grpc.NewClient(d.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	request := &auth.CheckRequest{Attributes: &auth.AttributeContext{Request: &auth.AttributeContext_Request{
		Http: &auth.AttributeContext_HttpRequest{Method: "GET", Path: "/x", Host: "h"},
	}}}
	for secret, want := range map[string]codes.Code{"shop": codes.OK, "no": codes.Unauthenticated, "": codes.PermissionDenied} {
		ctx := t.Context()
		if secret != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secret)
		}
		if _, err := auth.NewAuthorizationClient(connection).Check(ctx, request); status.Code(err) != want {
			t.Errorf("%q: %v, want %s", secret, err, want)
		}
	}
	if _, err := healthpb.NewHealthClient(connection).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
}

// A listener without users lets every client ask, also where another one has users.
func TestListenersHaveTheirOwnUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(file, []byte("users: {default: {may: [administer]}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, users := range map[string]daemon.UsersFiles{"http": {HTTP: file}, "resp": {RESP: file}} {
		d, err := daemon.New(t.Context(), daemon.Config{RESP: "127.0.0.1:0", HTTP: "127.0.0.1:0", Users: users, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		stopped := make(chan error, 1)
		go func() { stopped <- d.Run(ctx, ctx) }()
		client := redis.NewClient(&redis.Options{Addr: d.RESPAddr().String(), DisableIdentity: true})
		err = client.Do(t.Context(), "CL.THROTTLE", "k", 1, 2, 3).Err()
		if (err == nil) != (name == "http") {
			t.Errorf("users of %s: RESP answers %v", name, err)
		}
		_ = client.Close()
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}
