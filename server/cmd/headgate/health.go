package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/daemon"
)

// exitUnhealthy is health's exit status for an unhealthy server. Container engines reserve 2.
const exitUnhealthy exit = 1

// healthClient checks a server's health.
type healthClient struct {
	http         string
	ready        bool
	certificates certificateFlags
	timeout      time.Duration
	output       outputFlag
}

func newHealth() *cobra.Command {
	h := new(healthClient)
	c := &cobra.Command{
		Use: "health", Short: "Check that a server runs, for the health checks of containers", Args: exactly(),
		Long: "Check that a server or gateway runs: GET " + daemon.AlivePath + " on its HTTP listener,\nor " + daemon.ReadyPath + " with --ready. No limit counts these requests.\n\n" +
			"Exit status: 0 healthy, 1 unhealthy or not reachable, 2 invalid flags or files.",
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := h.certificates.config(h.http, "https://")
			if err != nil {
				return err
			}
			if _, err := url.Parse(urlOf(h.http)); err != nil {
				return fmt.Errorf("--http %q: accepted: host:port, or https://host:port", h.http)
			}
			client := &http.Client{Timeout: h.timeout, Transport: &http.Transport{TLSClientConfig: config}}
			return h.report(c, h.check(client))
		},
	}
	c.Flags().StringVar(&h.http, "http", "127.0.0.1:8080", "`address` of the server's HTTP listener; https://host:port if it speaks TLS")
	c.Flags().BoolVar(&h.ready, "ready", false, "check that new requests should be sent to the server")
	h.certificates.addTo(c.Flags())
	c.Flags().DurationVar(&h.timeout, "timeout", 2*time.Second, "timeout of the call")
	h.output.addTo(c.Flags())
	return c
}

// report prints the error unhealthy and returns exitUnhealthy. If unhealthy is nil, it prints nothing and returns nil.
// With --output json it prints a value in both cases.
func (h *healthClient) report(c *cobra.Command, unhealthy error) error {
	var answer struct {
		Healthy bool   `json:"healthy"`
		Error   string `json:"error,omitempty"`
	}
	var status error
	if answer.Healthy = unhealthy == nil; !answer.Healthy {
		answer.Error, status = unhealthy.Error(), exitUnhealthy
	}
	switch {
	case h.output.json():
		status = cmp.Or(writeJSON(c.OutOrStdout(), answer), status)
	case !answer.Healthy:
		fmt.Fprintln(c.ErrOrStderr(), "headgate: health: "+answer.Error)
	}
	return status
}

// check sends a probe. It returns nil if the server answers with status 200.
func (h *healthClient) check(client *http.Client) error {
	target := urlOf(h.http) + daemon.AlivePath
	if h.ready {
		target = urlOf(h.http) + daemon.ReadyPath
	}
	answer, err := client.Get(target)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // only the status matters
	return fmt.Errorf("%s: %s: %s", target, answer.Status, engine.Cut(strings.TrimSpace(string(body))))
}
