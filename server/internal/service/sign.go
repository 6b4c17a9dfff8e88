package service

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/users"
)

// signer signs reservations that leave the server, so that no client can give back units that it was not charged. The
// signed text is the signature, a dot and the reservation. A signer holds the secrets for one call.
type signer struct {
	shared []byte // secret of all servers on one store; nil while it is unknown
	own    []byte // secret of this server, for reservations from its own share, which only this server settles
	err    *Error // the reason why shared is unknown

	user    *users.User // the user of the call
	guarded bool        // the call came through a listener with users
}

// signer returns the signer for a call's reservations.
func (s *Service) signer(ctx context.Context) *signer {
	g := &signer{}
	if s.config.Users {
		g.user, g.guarded = users.From(ctx)
	}
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

// Sign returns the signed text of a reservation. While the shared secret is unknown, it signs with the server's own
// secret, because a server that starts in an outage makes reservations from its own share.
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

// Open verifies a signed text and returns its reservation. The error is an [*Error], with code Unavailable if the
// shared secret is needed but unknown.
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
	if g.guarded && !owns(g.user, held.ID) {
		return nil, &Error{Code: Forbidden, Err: errOwner}
	}
	return held, nil
}

// errOwner is the cause of an error with the code Forbidden, for a reservation or permit of another user.
var errOwner = errors.New("reservation was made by another user; accepted: the user that made it, or one that may: [operate]")

// ownerMark separates the random part of a reservation's id from a hash of the user that made it. Earlier servers treat
// the id as opaque, so they can settle these reservations.
const ownerMark = "."

// reservationID returns the id of a user's reservation. Without users it is "", and the id is generated later.
func reservationID(u *users.User, guarded bool) string {
	if !guarded || u == nil {
		return ""
	}
	id := rand.Text()
	return id + ownerMark + ownerOf(u, id)
}

// owns reports whether a user may settle the reservation with the given id, or use the permits held under this id.
// The id can also be one that the caller of an acquire chose.
func owns(u *users.User, id string) bool {
	random, owner, owned := strings.Cut(id, ownerMark)
	return !owned || len(random) != randomLen || len(owner) != ownerLen || u.MayOperate() || madeBy(u, id)
}

// madeBy reports whether a user made the reservation with the given id.
func madeBy(u *users.User, id string) bool {
	_, owner, _ := strings.Cut(id, ownerMark)
	return u != nil && owner == ownerOf(u, id)
}

// The lengths of the two parts of an id.
const randomLen, ownerLen = 26, 12

// ownerOf returns a hash of the user's name and the random part of the id.
func ownerOf(u *users.User, id string) string {
	if u == nil {
		return ""
	}
	id, _, _ = strings.Cut(id, ownerMark)
	return base64.RawURLEncoding.EncodeToString(mac([]byte(id), u.Name)[:9])
}
