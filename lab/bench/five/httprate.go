package five

import (
	"net/http"
	"time"

	"github.com/go-chi/httprate"
)

func httprateServer(next http.Handler) http.Handler {
	return httprate.LimitByIP(60, time.Minute)(next) //nolint:staticcheck // deprecated, because the address can be a proxy; the other programs have the same key
}
