package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/daemon"
)

// traceFlags holds the flags of serve for traces.
type traceFlags struct {
	otlpTraces  string
	traceSample float64
	keys        bool
}

func (f *traceFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.otlpTraces, "otlp-traces", "", "`URL` of an OpenTelemetry collector for spans: http:// or https:// (path /v1/traces), grpc:// or grpcs://")
	flags.Float64Var(&f.traceSample, "trace-sample", 0.01, "share of the requests that get a span, 0 to 1; a client with a trace decides for its own requests")
	flags.BoolVar(&f.keys, "trace-keys", false, "show up to 8 bytes and half of the key in spans, as --log-denied does; with --log-keys whole keys")
}

func (f *traceFlags) apply(c *cobra.Command, config *daemon.Config) error {
	if !(f.traceSample >= 0 && f.traceSample <= 1) { // also rejects NaN
		return fmt.Errorf("--trace-sample %v: accepted: 0 to 1", f.traceSample)
	}
	if f.otlpTraces == "" && (f.keys || c.Flags().Changed("trace-sample")) {
		return errors.New("--otlp-traces is not set; accepted: the URL of a collector, which --trace-sample and --trace-keys need")
	}
	config.Traces.Endpoint, config.Traces.Ratio, config.TraceKeys = f.otlpTraces, f.traceSample, f.keys
	return nil
}
