package five

import (
	"net/http"
	"time"

	"github.com/go-chi/httprate"
)

func httprateServer(next http.Handler) http.Handler {
	return httprate.LimitBy(60, time.Minute, httprate.KeyByIP)(next)
}
