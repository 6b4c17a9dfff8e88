package five

import (
	"net/http"
	"time"

	"github.com/go-chi/httprate"
)

func httprateServer(next http.Handler) http.Handler {
	return httprate.LimitByIP(60, time.Minute)(next)
}
