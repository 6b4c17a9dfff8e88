package examples_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// ask sends one request to a program from the documentation, and returns "ok" or "denied".
type ask func(t *testing.T, address string) string

// TestAdaptersInFreshModule follows the documentation as a reader would. It saves each program to which
// docs/reference/adapters.md links, and the one on the page, in a module next to a clone, builds the program and runs it.
// Each must allow its burst of 5 requests and deny the sixth.
func TestAdaptersInFreshModule(t *testing.T) {
	t.Parallel()
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(clone, "docs/reference/adapters.md"))
	if err != nil {
		t.Fatal(err)
	}
	get := func(t *testing.T, address string) string {
		return askHTTP(t, http.MethodGet, "http://"+address+"/", "")
	}
	for _, program := range []struct {
		module string
		ask    ask
	}{
		{"", get},
		{"adapter/gin", get},
		{"adapter/echo", get},
		{"adapter/fiber", get},
		{"adapter/connect", func(t *testing.T, address string) string {
			return askHTTP(t, http.MethodPost, "http://"+address+"/demo.v1.Demo/Hello", "{}")
		}},
		{"adapter/grpc", askGRPC},
	} {
		t.Run(filepath.Base(program.module), func(t *testing.T) {
			t.Parallel()
			var source string
			if program.module == "" {
				source = firstBlock(t, string(text), "go")
			} else {
				name := program.module + "/demo/main.go"
				data, err := os.ReadFile(filepath.Join(clone, name))
				if err != nil || !strings.Contains(string(text), "(../../"+name+")") {
					t.Fatalf("the page has no link to %s, or it cannot be read: %v", name, err)
				}
				source = string(data)
			}
			binary := buildFresh(t, clone, program.module, source)
			address := start(t, binary)
			for i, want := range []string{"ok", "ok", "ok", "ok", "ok", "denied"} {
				if got := program.ask(t, address); got != want {
					t.Errorf("request %d: %s, want %s", i, got, want)
				}
			}
		})
	}
}

// buildFresh builds a program in a separate module, with its address replaced by a free one.
func buildFresh(t *testing.T, clone, module, program string) (binary string) {
	t.Helper()
	parent := t.TempDir()
	demo := filepath.Join(parent, "demo")
	if err := os.Mkdir(demo, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(clone, filepath.Join(parent, "headgate")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(program, `"127.0.0.1:8080"`) {
		t.Fatal("the program does not listen on 127.0.0.1:8080")
	}
	listening := strings.Replace(program, `"127.0.0.1:8080"`, `os.Args[1]`, 1)
	listening = strings.Replace(listening, "import (", "import (\n\t\"os\"\n", 1)
	if err := os.WriteFile(filepath.Join(demo, "main.go"), []byte(listening), 0o644); err != nil {
		t.Fatal(err)
	}
	commands := "go mod init demo\n"
	for _, m := range []string{"headgate", "headgate/" + module} {
		if m == "headgate/" {
			continue
		}
		commands += fmt.Sprintf("go mod edit -require=github.com/headgate/%s@v0.0.0 -replace=github.com/headgate/%s=../%s\n", m, m, m)
	}
	// Copy the module's go.sum instead of running go mod tidy, which would also download the test dependencies of all
	// modules. The build does not need the checksums of test dependencies.
	if module != "" {
		commands += "cp ../headgate/" + module + "/go.sum .\n"
	}
	shell(t, demo, commands+"go build -ldflags='-s -w' -o program .\n")
	return filepath.Join(demo, "program")
}

// start runs a program until the end of the test. It returns when the program listens.
func start(t *testing.T, binary string) (address string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	free.Close()
	var printed bytes.Buffer
	command := exec.CommandContext(t.Context(), binary, address)
	command.Stdout, command.Stderr = &printed, &printed
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the program ended: %v\n%s", err, &printed)
		default:
		}
	}
	t.Fatal("the program does not listen")
	return ""
}

func askHTTP(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusOK && answer.Header.Get("Ratelimit") != "":
		return "ok"
	case answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") != "":
		return "denied"
	default:
		return fmt.Sprint(answer.Status, answer.Header)
	}
}

func askGRPC(t *testing.T, address string) string {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	switch code := status.Code(err); code {
	case codes.OK:
		return "ok"
	case codes.ResourceExhausted:
		return "denied"
	default:
		return code.String()
	}
}
