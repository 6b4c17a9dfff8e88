package daemon_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

const guardedPolicies = "policies: {shop: 100/s, other: 100/s}\nroutes: [{match: {path: /**}, key: [{const: all}], policies: [shop]}]\n"

// guardedServer starts a server with the users shop, which may use one policy but not send limits, and ops, which may
// also administer. Each user's secret is its name.
func guardedServer(t *testing.T, more string) *daemon.Daemon {
	t.Helper()
	hash := func(secret string) string {
		digest := sha256.Sum256([]byte(secret))
		return hex.EncodeToString(digest[:])
	}
	file := filepath.Join(t.TempDir(), "users.yaml")
	text := fmt.Sprintf("users: {shop: {sha256: [%s], may: [decide], policies: [shop], inline: false}, ops: {sha256: [%s], may: [decide, write]}%s}", hash("shop"), hash("ops"), more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse("x.yaml", []byte(guardedPolicies))
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a-token-of-the-operator"), 0o600); err != nil {
		t.Fatal(err)
	}
	return running(t, daemon.Config{
		Admin: daemon.AdminConfig{Address: "127.0.0.1:0", TokenFile: token},
		RESP:  "127.0.0.1:0", HTTP: "127.0.0.1:0", GRPC: daemon.GRPC{Address: "127.0.0.1:0"}, Base: config,
		Users: daemon.UsersFiles{RESP: file, HTTP: file, GRPC: file},
	})
}

// secretOf writes a users file with the single user shop, whose secret is its name.
func secretOf(t *testing.T, may string) (file string) {
	t.Helper()
	digest := sha256.Sum256([]byte("shop"))
	file = filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "users: {shop: {sha256: [%x], %s}}", digest, may), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestUsersOfAGateway checks that every path of a gateway except its readiness check needs a user, including paths that
// on other servers belong to the API, and that upstreams receive no secrets.
func TestUsersOfAGateway(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %q", r.URL.Path, r.Header.Get("Authorization"))
	}))
	defer s.Close()
	for _, ready := range []string{"/ready", ""} {
		c := gatewayTo(t, "policies: {api: 100/s}", s.URL)
		c.Users.HTTP, c.Gateway.ReadyPath = secretOf(t, "may: [decide]"), ready
		d := running(t, c)
		get := func(path, secret string) (int, string) {
			text := "GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
			if secret != "" {
				text += "Authorization: Bearer " + secret + "\r\n"
			}
			conn, err := net.Dial("tcp", d.HTTPAddr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, text+"\r\n")
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			return response.StatusCode, string(body)
		}
		for _, path := range []string{"/", "http://h", "/healthz", "/readyz", "/healthcheck", "/v1/authorize", "/metrics"} {
			if status, body := get(path, ""); status != http.StatusUnauthorized {
				t.Errorf("%s without a secret: %d %s", path, status, body)
			}
			if status, body := get(path, "shop"); status != http.StatusOK || !strings.HasSuffix(body, ` ""`) {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
		if status, body := get("/ready", ""); ready != "" && (status != http.StatusOK || !strings.Contains(body, "generation")) {
			t.Errorf("ready: %d %s", status, body)
		}
	}
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
		{"/v1/allow", `{"policy":"shop","key":"k"}`, "shop", 200},
		{"/v1/allow", `{"policy":"other","key":"k"}`, "shop", 403},
		{"/v1/allow", `{"limit":"1/s","key":"k"}`, "shop", 403},
		{"/v1/give", `{"policy":"shop","key":"k"}`, "shop", 403},
		{"/v1/allow", `{"policy":"shop","key":"k"}`, "", 401},
		{"/v1/allow", `{"policy":"shop","key":"k"}`, "no", 401},
		{"/v1/policies", "", "", 401},
		{"/v1/policies", "", "shop", 200},
		{"/v1/allow", `{"limit":"1/s","key":"k"}`, "ops", 200},
		{"/v1/give", `{"policy":"shop","key":"k"}`, "ops", 200},
		{"/v1/reset", `{"policy":"other","key":"k"}`, "ops", 200},
		{"/healthz", "", "", 200},
		{"/readyz", "", "", 200},
		{"/v1/authorize", "", "", 400}, // the caller is a trusted proxy, but sends no headers
	} {
		status, body, header := post(c.path, c.body, c.secret)
		if status != c.want || status == 401 && (header.Get("WWW-Authenticate") == "" || header.Get(requestid.Header) == "") || status > 400 && !strings.Contains(body, "accepted: ") {
			t.Errorf("%s %s as %q: %d %s, want %d", c.path, c.body, c.secret, status, body, c.want)
		}
	}
	for secret, want := range map[string]int{"shop": 1, "ops": 2} {
		if _, body, _ := post("/v1/policies", "", secret); strings.Count(body, `"name"`) != want || !strings.Contains(body, `"shop"`) {
			t.Errorf("policies of %s: %s", secret, body)
		}
	}
}

// TestWrongSecretsAreCounted covers every front end. A client without a secret is not counted.
func TestWrongSecretsAreCounted(t *testing.T) {
	d := guardedServer(t, "")
	for range 2 { // AUTH with a name, and HELLO
		c, _ := connect(t, d, 2, "", "")
		c.ask(t, "AUTH", "shop", "wrong")
		c.ask(t, "HELLO", "3", "AUTH", "shop", "wrong")
		c.ask(t, "HEADGATE.ALLOW", "shop", "k")
	}
	get := func(address net.Addr, path, authorization string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address.String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return string(body)
	}
	for _, authorization := range []string{"", "Bearer shop", "Bearer wrong", "Basic c2hvcDp3cm9uZw==", "wrong"} {
		get(d.HTTPAddr(), "/v1/policies", authorization)
	}
	client, err := grpc.NewClient(d.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, secret := range []string{"", "wrong", "shop"} {
		ctx := t.Context()
		if secret != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secret)
		}
		_, _ = auth.NewAuthorizationClient(client).Check(ctx, &auth.CheckRequest{})
	}
	get(d.AdminAddr(), "/metrics", "")
	get(d.AdminAddr(), "/metrics", "Bearer wrong")
	all := get(d.AdminAddr(), "/metrics", "Bearer a-token-of-the-operator")
	for from, want := range map[string]int{"resp": 4, "http": 3, "grpc": 1, "admin": 1} {
		if line := fmt.Sprintf("headgate_wrong_secrets_total{frontend=%q} %d\n", from, want); !strings.Contains(all, line) {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(all, `frontend="gateway"`) {
		t.Error("series of the gateway, which is off")
	}
}

// connection is a RESP connection.
type connection struct {
	net.Conn

	replies *bufio.Reader
}

// connect opens a connection. If secret is not "", it authenticates with HELLO.
func connect(t *testing.T, d *daemon.Daemon, protocol int, name, secret string) (c *connection, errorReply string) {
	t.Helper()
	conn, err := net.Dial("tcp", d.RESPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c = &connection{conn, bufio.NewReader(conn)}
	if secret != "" {
		errorReply = c.ask(t, "HELLO", strconv.Itoa(protocol), "AUTH", name, secret)
	}
	return c, errorReply
}

// ask sends a command and returns the text of the error reply. It returns "" if the reply is not an error.
func (c *connection) ask(t *testing.T, words ...string) (errorReply string) {
	t.Helper()
	if _, err := c.Write(resptest.AppendCommand(nil, words...)); err != nil {
		t.Fatal(err)
	}
	v, err := resptest.Read(c.replies)
	if err != nil {
		t.Fatal(err)
	}
	if v.Kind == resptest.Error {
		return v.Text
	}
	return ""
}

func TestUsersOverRESP(t *testing.T) {
	d := guardedServer(t, "")
	throttle := []string{"CL.THROTTLE", "k", "1", "2", "3"}
	for _, protocol := range []int{2, 3} {
		for _, c := range []struct {
			name, secret string
			words        []string
			want         string // substring of the error
		}{
			{"shop", "shop", []string{"HEADGATE.ALLOW", "shop", "k"}, ""},
			{"shop", "shop", []string{"HEADGATE.ALLOW", "other", "k"}, "may not use the policy"},
			{"shop", "shop", throttle, "limits of their own"},
			{"shop", "shop", []string{"DEL", "k"}, "may not give units back"},
			{"ops", "ops", throttle, ""},
			{"ops", "ops", []string{"DEL", "k"}, ""},
			{"", "", []string{"PING"}, "NOAUTH"},
			{"", "", []string{"HELLO", "3"}, "NOAUTH"},
			{"", "", throttle, "NOAUTH"},
		} {
			conn, errorReply := connect(t, d, protocol, c.name, c.secret)
			if errorReply != "" {
				t.Errorf("RESP%d, %s: %s", protocol, c.name, errorReply)
			}
			if got := conn.ask(t, c.words...); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("RESP%d %v as %q: %q, want %q", protocol, c.words, c.name, got, c.want)
			}
		}
		for _, name := range []string{"shop", "default", "nobody"} {
			if _, errorReply := connect(t, d, protocol, name, "ops"); !strings.HasPrefix(errorReply, "WRONGPASS") {
				t.Errorf("RESP%d, %s with another's secret: %q", protocol, name, errorReply)
			}
		}
	}
}

// TestUserOfAConnection checks that within one connection AUTH changes the user, a wrong AUTH does not, and RESET
// removes the user.
func TestUserOfAConnection(t *testing.T) {
	d := guardedServer(t, "")
	conn, _ := connect(t, d, 2, "", "")
	for _, step := range []struct{ command, want string }{
		{"AUTH shop shop", ""},
		{"DEL k", "may not give"},
		{"AUTH ops ops", ""},
		{"DEL k", ""},
		{"AUTH ops shop", "WRONGPASS"},
		{"AUTH ops", "WRONGPASS"},
		{"DEL k", ""},
		{"RESET", ""},
		{"DEL k", "NOAUTH"},
	} {
		if got := conn.ask(t, strings.Fields(step.command)...); (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
			t.Errorf("%s: %q, want %q", step.command, got, step.want)
		}
	}
}

func TestUsersOverGRPC(t *testing.T) {
	d := guardedServer(t, ", default: {may: [write]}")
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

// TestListenersHaveTheirOwnUsers checks that a listener without users accepts every client, even if another listener
// has users.
func TestListenersHaveTheirOwnUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(file, []byte("users: {default: {may: [write]}}"), 0o600); err != nil {
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
		conn, _ := connect(t, d, 2, "", "")
		if got := conn.ask(t, "CL.THROTTLE", "k", "1", "2", "3"); (got == "") != (name == "http") {
			t.Errorf("users of %s: RESP answers %q", name, got)
		}
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}
