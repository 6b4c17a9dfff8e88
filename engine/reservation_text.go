package engine

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strings"
)

// MaxReservationText is the length in bytes of the longest text of a reservation.
const MaxReservationText = 1 << 16

// The first byte of a reservation, before it becomes text: of the store alone, which other versions of this
// package read too, of shares, and of a list with several keys or shares.
const (
	reservationFormat = 1
	reservationShares = 2
	reservationKeys   = 3
)

const reservationAccepted = "the text of a reservation"

// String returns the reservation as text, which [ParseReservation] reads back: URL-safe
// base64. It is not signed: a program that can change the text can give back other units.
func (r *Reservation) String() string {
	format := byte(reservationFormat)
	switch {
	case r.Listed > 0 || isList(r.Limits) || isList(r.Shares):
		format = reservationKeys
	case r.Process != "":
		format = reservationShares
	}
	b := []byte{format}
	b = appendText(b, r.ID)
	b = appendText(b, r.Space)
	b = appendText(b, r.Key)
	b = binary.AppendVarint(b, r.Ends)
	if format == reservationKeys {
		b = binary.AppendUvarint(b, uint64(r.Listed))
	}
	b = appendReserved(b, format, r.Limits)
	if format != reservationFormat {
		b = appendText(b, r.Process)
		b = appendReserved(b, format, r.Shares)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// isList reports whether limits have keys of their own, or are not of one item each.
func isList(limits []Reserved) bool {
	for i := range limits {
		if l := &limits[i]; l.Key != "" || l.Items != 0 {
			return true
		}
	}
	return false
}

func appendReserved(b []byte, format byte, limits []Reserved) []byte {
	b = binary.AppendUvarint(b, uint64(len(limits)))
	for i := range limits {
		l := &limits[i]
		b = appendText(b, l.Space)
		if format == reservationKeys {
			b = binary.AppendUvarint(appendText(b, l.Key), uint64(l.Items))
		}
		b = appendText(b, l.Limit.String())
		b = binary.AppendVarint(b, l.Units)
		b = binary.AppendVarint(b, l.Taken)
		b = binary.AppendVarint(b, l.Slot-l.Taken)
		b = binary.AppendVarint(b, l.Ends-l.Taken)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// ParseReservation reads what [Reservation.String] wrote. The error is an [*InputError].
func ParseReservation(text string) (*Reservation, error) {
	if len(text) > MaxReservationText {
		return nil, invalid("reservation", len(text), reservationAccepted+", at most 65536 bytes long")
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") || len(data) == 0 || data[0] < reservationFormat || data[0] > reservationKeys {
		return nil, invalid("reservation", text, reservationAccepted)
	}
	p := byteFields{data: data[1:]}
	r := &Reservation{ID: p.text(), Space: p.text(), Key: p.text(), Ends: p.int()}
	if data[0] == reservationKeys {
		r.Listed = p.size()
		p.bad = p.bad || r.Listed > MaxCharges
	}
	r.Limits = p.reserved(data[0], 1, MaxCharges)
	if data[0] != reservationFormat {
		r.Process, r.Shares = p.text(), p.reserved(data[0], 0, maxShares)
		p.bad = p.bad || r.Process == "" && data[0] == reservationShares
	}
	op := r.Settle(0)
	if p.bad || len(p.data) > 0 || op.Check() != nil {
		return nil, invalid("reservation", text, reservationAccepted)
	}
	return r, nil
}

// byteFields reads the fields of a reservation. bad is set by one that is not there.
type byteFields struct {
	data []byte
	bad  bool
}

func (f *byteFields) items() uint32 {
	n, length := binary.Uvarint(f.data)
	if length <= 0 || n > math.MaxUint32 {
		f.bad, f.data = true, nil
		return 0
	}
	f.data = f.data[length:]
	return uint32(n)
}

func (f *byteFields) size() int {
	n, length := binary.Uvarint(f.data)
	if length <= 0 || n > MaxReservationText {
		f.bad, f.data = true, nil
		return 0
	}
	f.data = f.data[length:]
	return int(n)
}

// reserved reads what limits were charged: from least to most of them.
func (f *byteFields) reserved(format byte, least, most int) (limits []Reserved) {
	count := f.size()
	f.bad = f.bad || count < least || count > most
	for n := 0; n < count && !f.bad; n++ {
		l := Reserved{Space: f.text()}
		if format == reservationKeys {
			l.Key, l.Items = f.text(), f.items()
		}
		var err error
		if l.Limit, err = ParseLimit(f.text()); err != nil {
			f.bad = true
		}
		l.Units, l.Taken = f.int(), f.int()
		l.Slot, l.Ends = l.Taken+f.int(), l.Taken+f.int()
		limits = append(limits, l)
	}
	return limits
}

func (f *byteFields) text() string {
	n := f.size()
	if n > len(f.data) {
		f.bad, f.data = true, nil
		return ""
	}
	text := string(f.data[:n])
	f.data = f.data[n:]
	return text
}

func (f *byteFields) int() int64 {
	n, length := binary.Varint(f.data)
	if length <= 0 {
		f.bad, f.data = true, nil
		return 0
	}
	f.data = f.data[length:]
	return n
}
