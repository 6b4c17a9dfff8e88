package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (f *serveFlags) addTraces(flags *pflag.FlagSet) {
	flags.StringVar(&f.Traces.Endpoint, "otlp-traces", "", "`URL` of an OpenTelemetry collector for spans: http:// or https:// (path /v1/traces), grpc:// or grpcs://")
	flags.Float64Var(&f.Traces.Ratio, "trace-sample", 0.01, "share of the requests that get a span, 0 to 1; a client with a trace decides for its own requests")
	flags.BoolVar(&f.TraceKeys, "trace-keys", false, "show up to 8 bytes and half of the key in spans, as --log-denied does; with --log-keys whole keys")
}

func (f *serveFlags) checkTraces(c *cobra.Command) error {
	if !(f.Traces.Ratio >= 0 && f.Traces.Ratio <= 1) { // also rejects NaN
		return fmt.Errorf("--trace-sample %v: accepted: 0 to 1", f.Traces.Ratio)
	}
	if f.Traces.Endpoint == "" && (f.TraceKeys || c.Flags().Changed("trace-sample")) {
		return errors.New("--otlp-traces is not set; accepted: the URL of a collector, which --trace-sample and --trace-keys need")
	}
	return nil
}
