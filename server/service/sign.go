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

// signer signs reservations that leave the server, so that no client can give back units
// that it was not charged: the text is the signature, a point and the reservation. It has
// the secret of one call.
type signer struct {
	secret []byte
	err    *Error
}

// signer returns the signer for a call.
func (s *Service) signer(ctx context.Context) (g signer) {
	secret, err := s.config.Secret(ctx)
	if err != nil {
		g.err = &Error{Code: Unavailable, Err: err}
	}
	g.secret = secret
	return g
}

func (g *signer) mac(text string) []byte {
	h := hmac.New(sha256.New, g.secret)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func (g *signer) sign(text string) string {
	return base64.RawURLEncoding.EncodeToString(g.mac(text)) + "." + text
}

// errReservation is the cause of Invalid for a reservation that no server on this store
// has signed, or that was changed.
var errReservation = errors.New("reservation is not one of this service; accepted: what reserve answered")

// open returns the reservation of a signed text.
func (g *signer) open(text string) (*engine.Reservation, *Error) {
	if g.err != nil {
		return nil, g.err
	}
	signature, text, _ := strings.Cut(text, ".")
	mac, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || !hmac.Equal(mac, g.mac(text)) {
		return nil, &Error{Code: Invalid, Field: "reservation", Err: errReservation}
	}
	held, err := engine.ParseReservation(text)
	if err != nil {
		return nil, &Error{Code: Invalid, Field: "reservation", Err: errReservation}
	}
	return held, nil
}
