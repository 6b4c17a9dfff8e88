// Command demo serves a page that each address may get 60 times a minute, at most 5 times at once.
package main

import (
	"log"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/headgate/headgate"
	ginadapter "github.com/headgate/headgate/adapter/gin"
	"github.com/headgate/headgate/httplimit"
)

func main() {
	perIP := headgate.New().Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerMinute(60), Burst: 5})
	router := gin.Default()
	router.Use(ginadapter.New(perIP, httplimit.ByIP()))
	router.GET("/", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	log.Fatal(router.Run("127.0.0.1:8080"))
}
