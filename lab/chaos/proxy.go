package chaos

import (
	"context"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxy is the proxy between one process and Redis. Its methods must be called from one goroutine.
type proxy struct {
	t      testing.TB
	server *toxiproxy.Proxy
}

func newProxy(t testing.TB, name, to string) *proxy {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{t: t, server: toxiproxy.NewProxy(api, name, "127.0.0.1:0", to)}
	p.start()
	t.Cleanup(func() {
		p.server.Toxics.ResetToxics(context.Background())
		p.server.Stop()
	})
	return p
}

func (p *proxy) start() {
	p.t.Helper()
	if err := p.server.Start(); err != nil {
		p.t.Fatalf("proxy: %v", err)
	}
}

// addr returns the proxy's address, even after the connection was cut.
func (p *proxy) addr() string { return p.server.Listen }

// spoil adds a toxic of the given kind to one direction. The direction "upstream" is towards Redis.
func (p *proxy) spoil(kind, stream, attributes string) {
	p.t.Helper()
	text := `{"type":"` + kind + `","stream":"` + stream + `","attributes":{` + attributes + `}}`
	if _, err := p.server.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		p.t.Fatalf("proxy: %s: %v", text, err)
	}
}

// heal removes all toxics that spoil added.
func (p *proxy) heal() { p.server.Toxics.ResetToxics(context.Background()) }
