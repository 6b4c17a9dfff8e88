// Package service limits each address and each user, with Headgate. Package ulule does the same with ulule/limiter.
package service

import (
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// Handler limits an address to 5 requests an hour, and a user to 3.
func Handler(next http.Handler) http.Handler {
	limiter := headgate.New()
	perIP := limiter.Policy("ip", headgate.FixedWindow{Rate: headgate.PerHour(5)})
	perUser := limiter.Policy("user", headgate.FixedWindow{Rate: headgate.PerHour(3)})
	return httplimit.New(perIP, httplimit.ByIP())(httplimit.New(perUser, httplimit.ByHeader("X-User"))(next))
}
