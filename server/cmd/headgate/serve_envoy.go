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
	"github.com/spf13/pflag"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/policy/yamlfile"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/envoy"
)

// defaultGRPC is the gRPC address that is used if there is an Envoy configuration.
const defaultGRPC = "127.0.0.1:8081"

// addEnvoy adds the flags for gRPC and Envoy's rate limit service.
func (f *serveFlags) addEnvoy(flags *pflag.FlagSet) {
	g := &f.GRPC
	flags.StringVar(&g.EnvoyConfig, "envoy-config", "", "`directory` with the YAML files of envoyproxy/ratelimit, reread when it changes")
	flags.StringVar(&g.Address, "grpc", defaultGRPC, "`address` for gRPC, unix:/path, or off; port 0 takes a free port and prints it; without --envoy-config gRPC listens only if this flag is given")
	flags.StringVar(&f.semantics, "envoy-semantics", "envoy", "envoy: the answers of envoyproxy/ratelimit; improved: all descriptors of a request or none are charged, and denied hits are not counted")
	flags.BoolVar(&g.Force, "envoy-force", false, "start even if the files have an error: every request is an error until they are correct")
	flags.BoolVar(&g.Options.MergeDomains, "envoy-merge-domains", false, "let several files have the same domain")
	flags.BoolVar(&g.Options.Shadow, "envoy-shadow", false, "answer OK to every request, and count as usual")
	flags.BoolVar(&g.Options.Quota, "envoy-quota", false, "set quota_mode on every rule")
	flags.BoolVar(&g.Options.DynamicMetadata, "envoy-metadata", false, "add the descriptors and the rules' metadata to answers")
	flags.StringSliceVar(&f.headers, "envoy-headers", nil, "`names` of three headers for responses: limit, remaining units, seconds until the reset")
	flags.Float32Var(&g.Options.NearLimitRatio, "envoy-near-limit", 0.8, "part of a limit from which hits count as near it, more than 0, up to 1")
	flags.DurationVar(&g.Deadline, "grpc-deadline", 15*time.Millisecond, "longest time for a gRPC decision on Redis, because Envoy waits 20ms; three quarters of the caller's own deadline if that is shorter")
	flags.DurationVar(&g.MaxAge, "grpc-max-age", 0, "lifetime of a gRPC connection; 0s: no bound")
	flags.DurationVar(&g.MaxAgeGrace, "grpc-max-age-grace", 0, "time for the calls of a connection whose lifetime has ended; 0s: no bound")
	flags.BoolVar(&g.Options.NeedDomain, "ready-needs-domain", false, "report not ready while the files of --envoy-config have no domain")
}

// checkEnvoy completes the configuration of the gRPC listener.
func (f *serveFlags) checkEnvoy(c *cobra.Command) error {
	g := &f.GRPC
	switch f.semantics {
	case "envoy":
	case "improved":
		g.Options.Semantics = envoy.Improved
	default:
		return unknownWord("envoy-semantics", f.semantics)
	}
	if g.Deadline <= 0 || g.Deadline > time.Minute {
		return fmt.Errorf("--grpc-deadline %s: accepted: more than 0s, up to 1m", g.Deadline)
	}
	if g.MaxAge < 0 || g.MaxAgeGrace < 0 {
		return errors.New("--grpc-max-age, --grpc-max-age-grace: accepted: 0s or more")
	}
	if ratio := g.Options.NearLimitRatio; c.Flags().Changed("envoy-near-limit") && !(ratio > 0 && ratio <= 1) {
		return fmt.Errorf("--envoy-near-limit %v: accepted: more than 0, up to 1", ratio)
	}
	switch h := f.headers; len(h) {
	case 0:
	case 3:
		g.Options.Headers = envoy.Headers{Enabled: true, Limit: h[0], Remaining: h[1], Reset: h[2]}
	default:
		return fmt.Errorf("--envoy-headers %s: accepted: three names, such as RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset", strings.Join(h, ","))
	}
	if g.EnvoyConfig == "" && !c.Flags().Changed("grpc") {
		g.Address = daemon.Off // unless the policies file sets an address
	}
	if c.Flags().Changed("failure") {
		if failure, err := policy.ParseFailure(f.failure); err == nil { // read reports an error
			g.Options.Failure = &failure
		}
	}
	return nil
}

// envoyFiles returns the files in a directory, or a single file of envoyproxy/ratelimit. ok is false for any other
// file, and for a file that cannot be read.
func envoyFiles(path string) (all []envoy.File, ok bool, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if all, err = envoy.ReadDir(path); err == nil && len(all) == 0 {
			err = fmt.Errorf("%s has no files", path)
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

// ofDirectory adds to an error what check reads a directory as.
func ofDirectory(path string, err error) error {
	if info, failed := os.Stat(path); err == nil || failed != nil || !info.IsDir() {
		return err
	}
	return errors.Join(err, fmt.Errorf("%s is a directory; accepted: one with only files of envoyproxy/ratelimit, also in its folders; or a policies file by its name", path))
}

// checkRules checks a directory, or a file if it is one of envoyproxy/ratelimit's. For any other file ok is false.
func checkRules(path, output string) (lines string, ok bool, err error) {
	all, ok, err := envoyFiles(path)
	if !ok || err != nil {
		return "", ok, ofDirectory(path, err)
	}
	config, err := envoy.Load(all, envoy.LoadOptions{EveryError: true})
	err = ofDirectory(path, err)
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
