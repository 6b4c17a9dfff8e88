package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
)

// shadowed is the format of a policies file. Its placeholder is for a candidate.
const shadowed = `
policies: {api: {algorithm: token-bucket, rate: 1000000/s, burst: 4000000000%s}}
routes: [{match: {path: "/**"}, key: [{header: X-User}], policies: [api]}]
`

// shadowRows compares a server where every policy has a shadow with a server without shadows. It uses Envoy's external
// authorization over gRPC, in memory and on Redis. Both servers count for operators, because only then are shadows
// compared.
func shadowRows(ctx context.Context, s settings) (tables []table, err error) {
	dir, err := os.MkdirTemp("", "headgate-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	with, without := filepath.Join(dir, "with.yaml"), filepath.Join(dir, "without.yaml")
	err = errors.Join(os.WriteFile(with, fmt.Appendf(nil, shadowed, ", shadow: {rate: 500000/s}"), 0o600), os.WriteFile(without, fmt.Appendf(nil, shadowed, ""), 0o600))
	if err != nil {
		return nil, err
	}
	all := starter{ctx: ctx}
	defer func() { stopAll(all.started) }()
	for _, row := range []struct {
		where string
		redis bool
		reach float64
	}{{"in memory", false, 0.9}, {"on Redis", true, 0.6}} {
		var checkers [2]*checker
		for i, file := range []string{without, with} {
			store := "memory"
			if row.redis {
				r, err := startRedis(ctx)
				if err != nil {
					return nil, err
				}
				all.started = append(all.started, r)
				store = "redis://" + r.address
			}
			one := all.start("../bin/headgate", "serve", "--resp", "off", "--http", "off", "--grpc", "127.0.0.1:0", "--grpc-deadline", "1s",
				"--store", store, "--config", file, "--admin", "127.0.0.1:0", "--log-level", "warn")
			if all.err != nil {
				return nil, all.err
			}
			if checkers[i], err = dialChecker(one); err != nil {
				return nil, err
			}
			defer checkers[i].close()
		}
		t, err := besideChecker(checkers, s)
		if err != nil {
			return nil, err
		}
		t.title, t.unit, t.reach = fmt.Sprintf("Every policy with a shadow: gRPC %s, %d callers", row.where, grpcCallers), "calls/s", row.reach
		t.lines[0].name = "with shadows"
		tables = append(tables, t)
	}
	return tables, nil
}

func besideChecker(checkers [2]*checker, s settings) (table, error) {
	keys := names(100_000)
	return beside(s, func(on bool) (float64, error) {
		c := checkers[0]
		if on {
			c = checkers[1]
		}
		one, err := turn(contender{name: "headgate", ask: c.call}, load{row: "shadow", callers: grpcCallers, keys: keys}, s)
		return one.perSecond, err
	})
}

// checker is a client of Envoy's external authorization.
type checker struct {
	clients []auth.AuthorizationClient
	conns   []*grpc.ClientConn
}

func dialChecker(s *server) (*checker, error) {
	conns, err := dialConns(s)
	if err != nil {
		return nil, err
	}
	c := &checker{conns: conns}
	for _, conn := range conns {
		c.clients = append(c.clients, auth.NewAuthorizationClient(conn))
	}
	return c, c.call("warm")
}

// call sends one request for a user.
func (c *checker) call(key string) error {
	answer, err := c.clients[keyNumber(key)%grpcConns].Check(context.Background(), &auth.CheckRequest{Attributes: &auth.AttributeContext{
		Source: &auth.AttributeContext_Peer{Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: "127.0.0.1"}}}},
		Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{
			Method: "GET", Host: "a", Path: "/users/7", Headers: map[string]string{"x-user": key},
		}},
	}})
	if err == nil && answer.GetStatus().GetCode() != 0 {
		err = errors.New("denied")
	}
	return err
}

func (c *checker) close() { closeConns(c.conns) }
