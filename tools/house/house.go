// Command house writes docs/design/house.md, which shows the project's layers and their dependencies according to the
// imports. Its test checks that every import points downwards.
//
//	cd tools && GOWORK=off go run ./house
package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/headgate/headgate"

// room is a group of packages on the page.
type room struct {
	name, holds string
	packages    []string // directories; a name that ends in /* includes the directories below
}

// floors are the rooms from the top down. A room may only depend on rooms on lower floors.
var floors = [][]room{
	{
		{"program", "flags, listeners, start and stop", []string{"server/cmd/*", "server/daemon"}},
	},
	{
		{"admin", "what operators call, metrics, traces", []string{"server/internal/admin", "server/internal/metrics", "server/internal/tracing/*", "server/internal/shadows", "server/internal/topkeys", "server/internal/audit"}},
		{"trials", "headgate bench, headgate test", []string{"server/internal/load", "server/internal/policytest"}},
	},
	{
		{"front ends", "RESP, HTTP, gRPC, gateway", []string{"server/internal/resp/*", "server/internal/respapi", "server/internal/httpapi/*", "server/internal/verbs", "server/internal/grpcapi", "server/internal/gateway", "server/internal/problem"}},
	},
	{
		{"service", "users, deadlines, signatures, observers", []string{"server/internal/service/*", "server/internal/peers"}},
		{"envoy", "rules of envoyproxy/ratelimit", []string{"server/internal/envoy"}},
		{"changes", "policies in force, TLS files", []string{"server/internal/policies", "server/internal/tlsfiles/*"}},
		{"replay", "access logs → answers, limits, reports", []string{"server/internal/replay/*"}},
		{"adapters", "a policies file; gin, echo, fiber, connect, gRPC", []string{"policy/filelimit", "adapter/gin/*", "adapter/echo/*", "adapter/fiber/*", "adapter/connect/*", "adapter/grpc/*"}},
	},
	{
		{"decide", "requests → operations → answers", []string{"policy/decide"}},
		{"page", "the operators' page, its calls and events", []string{"server/internal/page", "server/internal/feed", "server/internal/adminapi"}},
	},
	{
		{"policy", "files → limits, routes", []string{"policy", "policy/route", "policy/keyhash", "policy/internal/*"}},
		{"open", "a store by its URL", []string{"open"}},
		{"httplimit", "middleware for programs", []string{"httplimit", "httpclient", "adapter/rpc"}},
	},
	{
		{"wire", "headers, problems, clients", []string{"httplimit/wire"}},
		{"stack", "the layers in their order", []string{"layer/stack"}},
		{"observers", "Prometheus, OpenTelemetry", []string{"adapter/prometheus", "adapter/otel"}},
		{"cases", "that every store passes, and for users' tests", []string{"storetest", "headgatetest"}},
		{"snapshot", "memory in a file", []string{"server/internal/snapshot"}},
	},
	{
		{"headgate", "the facade for programs: Policy, Decision", []string{"."}},
		{"layers", "batch, leases, shares", []string{"layer/batch", "layer/fallback", "layer/prefetch", "layer/internal/*"}},
		{"clients", "of Redis", []string{"adapter/rueidis", "adapter/goredis"}},
		{"load", "calls in flight by latency", []string{"adaptive"}},
		{"vectors", "recorded requests with exact answers", []string{"storetest/vectors"}},
	},
	{
		{"core", "the one limiter: ask, wait, hold, settle", []string{"core"}},
	},
	{
		{"memstore", "the store in memory", []string{"memstore"}},
		{"redisstore", "the store on Redis, in Lua", []string{"redisstore/*"}},
		{"membership", "the processes on a store, lost data", []string{"layer/membership"}},
	},
	{
		{"shared", "files, queues, bounds, formats", []string{"internal/*", "adapter/outcomes", "policy/yamlfile", "policy/jsontext", "policy/files", "server/internal/users", "server/internal/respclient", "server/internal/watch", "server/internal/requestid", "server/internal/lograte", "server/internal/metric", "server/internal/costtest"}},
	},
	{
		{"engine", "the contract: Op, Answer, Store, Limit", []string{"engine"}},
	},
	{
		{"algorithms", "pure steps on integers", []string{"engine/algo"}},
	},
}

// packagePosition is the room of a package and the index of its floor, from the top.
type packagePosition struct {
	floor int
	room  *room
}

// placeOf returns the position of the package in a directory. The longest matching name wins. ok is false if no room
// contains the package.
func placeOf(folder string) (best packagePosition, ok bool) {
	length := -1
	for f := range floors {
		for r := range floors[f] {
			for _, p := range floors[f][r].packages {
				under, all := strings.CutSuffix(p, "/*")
				if (folder == p || all && (folder == under || strings.HasPrefix(folder, under+"/"))) && len(p) > length {
					best, ok, length = packagePosition{f, &floors[f][r]}, true, len(p)
				}
			}
		}
	}
	return best, ok
}

// house holds the dependencies between rooms, and the violations.
type house struct {
	needs  map[string]map[string]bool // by room name
	faults []string
}

// inspect reads the imports of the packages that users run, excluding tests, benchmarks and examples.
func inspect(root string) (*house, error) {
	list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Module.Path}}{{range .Imports}} {{.}}{{end}}", "work")
	list.Dir, list.Env = root, append(os.Environ(), "GOWORK=")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	h := &house{needs: map[string]map[string]bool{}}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from := folderOf(words[0])
		if strings.HasPrefix(from, "lab") || strings.HasPrefix(from, "examples") || strings.HasPrefix(from, "tools") {
			continue
		}
		h.look(from, words[2:])
		h.lookAcross(from, words[1], words[2:])
	}
	return h, nil
}

// look records the rooms that a package imports from. It records a fault if the package has no room, or if an
// import of another room does not point downwards.
func (h *house) look(from string, imports []string) {
	here, ok := placeOf(from)
	if !ok {
		h.faults = append(h.faults, from+" stands in no room: add it to tools/house/house.go")
		return
	}
	for _, path := range imports {
		if path != module && !strings.HasPrefix(path, module+"/") {
			continue
		}
		there, ok := placeOf(folderOf(path))
		switch {
		case !ok || here.room == there.room:
		case there.floor <= here.floor:
			h.faults = append(h.faults, fmt.Sprintf("%s (%s) imports %s (%s), which does not stand below it", from, here.room.name, folderOf(path), there.room.name))
		default:
			if h.needs[here.room.name] == nil {
				h.needs[here.room.name] = map[string]bool{}
			}
			h.needs[here.room.name][there.room.name] = true
		}
	}
}

// lookAcross records a fault for each import of what is internal to another module, or of lab. A program can combine a
// newer root module with an older module of policies, so internal packages would have to keep their promises too. The
// server is built as a whole, so it may.
func (h *house) lookAcross(from, of string, imports []string) {
	for _, path := range imports {
		folder := folderOf(path)
		if folder == path && path != module {
			continue
		}
		if folder == "lab" || strings.HasPrefix(folder, "lab/") {
			h.faults = append(h.faults, from+" imports "+folder+", which does not ship")
		}
		internal := strings.HasPrefix(folder, "internal/") || strings.Contains(folder, "/internal/")
		if internal && !strings.HasPrefix(path, of+"/") || of != module && strings.HasPrefix(folder, "internal/") {
			if of != module+"/server" {
				h.faults = append(h.faults, fmt.Sprintf("%s imports %s, which is internal to another module", from, folder))
			}
		}
	}
}

func folderOf(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// reduced returns the dependencies without those that follow from others, so that the drawing needs fewer arrows.
func (h *house) reduced() map[string][]string {
	var leads func(from, to string) bool
	leads = func(from, to string) bool {
		for next := range h.needs[from] {
			if next == to || leads(next, to) {
				return true
			}
		}
		return false
	}
	arrows := map[string][]string{}
	for from, all := range h.needs {
		for _, to := range slices.Sorted(maps.Keys(all)) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(by string) bool { return by != to && leads(by, to) }) {
				arrows[from] = append(arrows[from], to)
			}
		}
	}
	return arrows
}

// page returns the content of docs/design/house.md.
func (h *house) page() string {
	var b strings.Builder
	b.WriteString(`# The house

A room imports only the rooms that its arrows lead to, directly or through other rooms. No import goes up: a test compares this page
with the imports. [tools/house/house.go](../../tools/house/house.go) lists each room's folders; after changing it, run
` + "`cd tools && GOWORK=off go run ./house`" + `. [CONTRIBUTING.md](../../CONTRIBUTING.md#where-things-are) says what is in each folder.

` + "```mermaid\nflowchart TD\n")
	names := map[string]string{}
	for f := range floors {
		for r := range floors[f] {
			id := fmt.Sprintf("r%d_%d", f, r)
			names[floors[f][r].name] = id
			fmt.Fprintf(&b, "  %s[\"<b>%s</b><br/>%s\"]\n", id, floors[f][r].name, floors[f][r].holds)
		}
	}
	arrows := h.reduced()
	for f := range floors {
		for r := range floors[f] {
			var to []string
			for _, name := range arrows[floors[f][r].name] {
				to = append(to, names[name])
			}
			if len(to) > 0 {
				fmt.Fprintf(&b, "  %s --> %s\n", names[floors[f][r].name], strings.Join(to, " & "))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

func main() {
	h, err := inspect("..")
	if err == nil && len(h.faults) > 0 {
		err = fmt.Errorf("%s", strings.Join(h.faults, "\n"))
	}
	if err == nil {
		err = os.WriteFile("../docs/design/house.md", []byte(h.page()), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}
