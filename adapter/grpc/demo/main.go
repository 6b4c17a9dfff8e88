// Command demo serves a method that each address may call 60 times a minute, at most 5 at once.
package main

import (
	"log"
	"net"

	"github.com/headgate/headgate"
	grpcadapter "github.com/headgate/headgate/adapter/grpc"
	"github.com/headgate/headgate/httplimit"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	perIP := headgate.New().Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerMinute(60), Burst: 5})
	limit := grpcadapter.New(perIP, httplimit.ByIP())
	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
	healthpb.RegisterHealthServer(server, health.NewServer()) // your services here
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Serve(listener))
}
