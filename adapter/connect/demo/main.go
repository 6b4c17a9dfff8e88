// Command demo serves a method that each address may call 60 times a minute, at most 5 at once.
package main

import (
	"context"
	"log"
	"net/http"

	"connectrpc.com/connect"
	"github.com/headgate/headgate"
	connectadapter "github.com/headgate/headgate/adapter/connect"
	"github.com/headgate/headgate/httplimit"
	"google.golang.org/protobuf/types/known/emptypb"
)

func hello(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[emptypb.Empty], error) {
	return connect.NewResponse(&emptypb.Empty{}), nil
}

func main() {
	perIP := headgate.New().Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerMinute(60), Burst: 5})
	limit := connect.WithInterceptors(connectadapter.New(perIP, httplimit.ByIP()))
	http.Handle("/demo.v1.Demo/Hello", connect.NewUnaryHandler("/demo.v1.Demo/Hello", hello, limit))
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}
