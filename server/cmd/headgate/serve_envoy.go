package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/policy/yamlfile"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/envoy"
)

// defaultGRPC is the gRPC address that is used if there is an Envoy configuration.
const defaultGRPC = "127.0.0.1:8081"

// envoyFlags holds the flags of serve for Envoy's rate limit service.
type envoyFlags struct {
	grpc, envoyConfig, semantics string
	envoyEnv                     bool
	deadline                     time.Duration
}

func (f *envoyFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.envoyConfig, "envoy-config", "", "`directory` with the YAML files of envoyproxy/ratelimit, reread when it changes")
	flags.StringVar(&f.grpc, "grpc", defaultGRPC, "`address` for gRPC, unix:/path, or off; port 0 takes a free port and prints it; without --envoy-config gRPC listens only if this flag is given")
	flags.StringVar(&f.semantics, "envoy-semantics", "envoy", "envoy: the answers of envoyproxy/ratelimit; improved: all descriptors of a request or none are charged, and denied hits are not counted")
	flags.BoolVar(&f.envoyEnv, "envoy-env", false, "read those environment variables of envoyproxy/ratelimit that change its answers, and refuse those that flags replace")
	flags.DurationVar(&f.deadline, "grpc-deadline", 15*time.Millisecond, "longest time for a gRPC decision on Redis, because Envoy waits 20ms; three quarters of the caller's own deadline if that is shorter")
}

// apply returns the configuration of the gRPC listener. With --envoy-env it also reads the variables of
// envoyproxy/ratelimit.
func (f *envoyFlags) apply(c *cobra.Command, serve *serveFlags) (daemon.GRPC, error) {
	g := daemon.GRPC{Address: f.grpc, EnvoyConfig: f.envoyConfig, Deadline: f.deadline, Options: envoy.Options{Headers: envoy.DefaultHeaders}}
	if f.envoyEnv {
		e, err := envoy.ReadEnvironment(os.LookupEnv, c.Flags().Changed)
		if err != nil {
			return g, fmt.Errorf("--envoy-env: %w", err)
		}
		g.MaxAge, g.MaxAgeGrace, g.Options = e.MaxAge, e.MaxAgeGrace, e.Options
		g.Force = true // as in envoyproxy/ratelimit, the server waits for a valid configuration
	}
	switch f.semantics {
	case "envoy":
	case "improved":
		g.Options.Semantics = envoy.Improved
	default:
		return g, unknownWord("envoy-semantics", f.semantics)
	}
	if f.deadline <= 0 || f.deadline > time.Minute {
		return g, fmt.Errorf("--grpc-deadline %s: accepted: more than 0s, up to 1m", f.deadline)
	}
	if g.EnvoyConfig == "" && (f.envoyEnv || c.Flags().Changed("envoy-semantics")) {
		return g, fmt.Errorf("--envoy-config is not set; accepted: a directory, which --envoy-semantics and --envoy-env need")
	}
	if g.EnvoyConfig == "" && !c.Flags().Changed("grpc") {
		g.Address = daemon.Off // unless the policies file sets an address
	}
	if c.Flags().Changed("failure") {
		if failure, err := policy.ParseFailure(serve.failure); err == nil { // serveFlags.read reports an error
			g.Options.Failure = &failure
		}
	}
	return g, nil
}

// envoyFiles returns the files in a directory, or a single file of envoyproxy/ratelimit. ok is false for any other
// file, and for a file that cannot be read.
func envoyFiles(path string) (all []envoy.File, ok bool, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if all, err = envoy.ReadDir(path); err == nil && len(all) == 0 {
			err = fmt.Errorf("%s has no files; accepted: a directory with the YAML files of envoyproxy/ratelimit", path)
		}
		return all, true, err
	}
	f, err := files.Open(path)
	if err != nil {
		return nil, false, nil //nolint:nilerr // the caller opens the file again and reports why this fails
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, yamlfile.MaxBytes+1))
	if err != nil || !envoy.Recognise(data) {
		return nil, false, nil //nolint:nilerr // as above
	}
	return []envoy.File{{Name: path, Data: data}}, true, nil
}

// checkEnvoy checks a directory, or a file if it is one of envoyproxy/ratelimit's. For any other file ok is false.
func checkEnvoy(path, output string) (lines string, ok bool, err error) {
	all, ok, err := envoyFiles(path)
	if !ok || err != nil {
		return "", ok, err
	}
	config, err := envoy.Load(all, envoy.LoadOptions{EveryError: true})
	var rules []string
	if err == nil {
		rules = append(config.Describe(), config.Warnings...)
	}
	if output != "json" {
		if err != nil {
			err = errors.New(strings.ReplaceAll(err.Error(), "\n", "\nheadgate: ")) // prints each error on its own line
		}
		return strings.Join(append(rules, ""), "\n"), true, err
	}
	report := struct {
		Rules []string `json:"rules,omitempty"`
		Error string   `json:"error,omitempty"`
	}{Rules: rules}
	if err != nil {
		report.Error, err = err.Error(), exitUnusable
	}
	text, failed := json.MarshalIndent(report, "", "  ")
	if failed != nil {
		return "", true, failed
	}
	return string(text) + "\n", true, err
}
