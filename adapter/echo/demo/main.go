// Command demo serves a page that each address may get 60 times a minute, at most 5 times at once.
package main

import (
	"log"
	"net/http"

	"github.com/headgate/headgate"
	echoadapter "github.com/headgate/headgate/adapter/echo"
	"github.com/headgate/headgate/httplimit"
	"github.com/labstack/echo/v5"
)

func main() {
	perIP := headgate.New().Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerMinute(60), Burst: 5})
	server := echo.New()
	server.Use(echoadapter.New(perIP, httplimit.ByIP()))
	server.GET("/", func(c *echo.Context) error { return c.String(http.StatusOK, "hello") })
	log.Fatal(server.Start("127.0.0.1:8080"))
}
