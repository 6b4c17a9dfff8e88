// Command demo serves a page that each address may get 60 times a minute, at most 5 times at once.
package main

import (
	"log"

	"github.com/gofiber/fiber/v3"
	"github.com/headgate/headgate"
	fiberadapter "github.com/headgate/headgate/adapter/fiber"
	"github.com/headgate/headgate/httplimit"
)

func main() {
	perIP := headgate.New().Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerMinute(60), Burst: 5})
	app := fiber.New()
	app.Use("/*", fiberadapter.New(perIP, httplimit.ByIP()))
	app.Get("/", func(c fiber.Ctx) error { return c.SendString("hello") })
	log.Fatal(app.Listen("127.0.0.1:8080"))
}
