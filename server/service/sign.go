package service

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/headgate/headgate/engine"
)

// signer signs reservations that leave the server, so that no client can give back units that it was not charged. The
// signed text is the signature, a dot and the reservation. A signer holds the secrets for one call.
type signer struct {
	shared []byte // secret of all servers on one store; nil while it is unknown
	own    []byte // secret of this server: reservations of its share are settled only here
	err    *Error // the reason why shared is unknown
}

// signer returns the signer for a call's reservations.
func (s *Service) signer(ctx context.Context) *signer {
	g := &signer{}
	shared, err := s.config.Secret(ctx)
	if err != nil {
		g.err = &Error{Code: Unavailable, Err: err}
	}
	g.shared, g.own = shared, s.own
	return g
}

func mac(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Sign signs with the server's own secret while the shared one is unknown, because a server that starts in an outage
// makes reservations from its share.
func (g *signer) Sign(text string) string {
	secret := g.shared
	if secret == nil {
		secret = g.own
	}
	return base64.RawURLEncoding.EncodeToString(mac(secret, text)) + "." + text
}

// errReservation is the cause of an error with the code Invalid, for a reservation that was modified, or that no server
// on this store has signed.
var errReservation = errors.New("reservation is not one of this service; accepted: the reservation from the answer to reserve")

// Open verifies a signed text and returns its reservation.
func (g *signer) Open(text string) (*engine.Reservation, error) {
	signature, text, _ := strings.Cut(text, ".")
	signed, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	own := err == nil && hmac.Equal(signed, mac(g.own, text))
	switch {
	case !own && g.err != nil:
		return nil, g.err
	case !own && (err != nil || !hmac.Equal(signed, mac(g.shared, text))):
		return nil, &Error{Code: Invalid, Field: "reservation", Err: errReservation}
	}
	held, err := engine.ParseReservation(text)
	if err != nil {
		return nil, &Error{Code: Invalid, Field: "reservation", Err: errReservation}
	}
	return held, nil
}
