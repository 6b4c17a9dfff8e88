package engine

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxReservationText is the maximum length of a reservation's text, in bytes.
const MaxReservationText = 1 << 16

// The first byte of an encoded reservation is its format.
const reservationFormat = 1

const reservationAccepted = "the text of a reservation"

// String returns the reservation as URL-safe base64, which [ParseReservation] reads. The text is not signed: a
// client that changes it can give back other units.
func (r *Reservation) String() string {
	return base64.RawURLEncoding.EncodeToString(r.AppendTo(nil))
}

// AppendTo appends the bytes that String encodes. [ReservationAt] reads them.
func (r *Reservation) AppendTo(b []byte) []byte {
	b = appendText(append(b, reservationFormat), r.ID)
	b = appendText(b, r.Space)
	b = appendText(b, r.Key)
	b = binary.AppendVarint(b, r.Ends)
	b = binary.AppendUvarint(b, uint64(r.Listed))
	b = r.Term.appendTo(b, r.Due)
	b = appendReserved(b, r.Limits)
	return appendReserved(appendText(b, r.Process), r.Shares)
}

// appendTo appends the term and the time at which it ends. No term is a length of 0.
func (t *Term) appendTo(b []byte, due int64) []byte {
	if t == nil {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, t.Within.Milliseconds())
	b = binary.AppendVarint(b, due)
	return appendInts(append(b, byte(t.Then)), t.Estimates)
}

func appendReserved(b []byte, limits []Reserved) []byte {
	b = binary.AppendUvarint(b, uint64(len(limits)))
	for i := range limits {
		l := &limits[i]
		b = appendText(b, l.Space)
		b = binary.AppendUvarint(appendText(b, l.Key), uint64(l.Items))
		b = appendText(b, l.Limit.String())
		b = binary.AppendVarint(b, l.Units)
		b = binary.AppendVarint(b, l.At)
		b = binary.AppendVarint(b, l.Slot-l.At)
		b = binary.AppendVarint(b, l.Ends-l.At)
	}
	return b
}

func appendInts(b []byte, all []int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, n := range all {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// ParseReservation parses text that [Reservation.String] returned. The error is an [*InputError].
func ParseReservation(text string) (*Reservation, error) {
	if len(text) > MaxReservationText {
		return nil, invalid("reservation", remark(strconv.Itoa(len(text))+" bytes"), reservationAccepted+", at most 65536 bytes long")
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	r, length := ReservationAt(data, "")
	if err != nil || strings.ContainsAny(text, "\r\n") || r == nil || length < len(data) {
		return nil, invalid("reservation", text, reservationAccepted)
	}
	return r, nil
}

// ReservationAt reads a reservation that [Reservation.AppendTo] wrote at the start of data. It also returns the
// number of bytes read. The reservation is nil if the bytes are not valid. A reservation that was written without an
// id gets the given id.
func ReservationAt(data []byte, id string) (r *Reservation, length int) {
	if len(data) == 0 || data[0] != reservationFormat {
		return nil, 0
	}
	p := byteFields{data: data[1:]}
	r = &Reservation{ID: p.text(), Space: p.text(), Key: p.text(), Ends: p.int()}
	r.Listed = p.size()
	p.bad = p.bad || r.Listed > MaxCharges
	r.Term, r.Due = p.term()
	r.Limits = p.reserved(1, MaxCharges)
	r.Process, r.Shares = p.text(), p.reserved(0, maxShares)
	r.ID = cmp.Or(r.ID, id)
	op := r.Settle(0)
	if p.bad || op.Check() != nil {
		return nil, 0
	}
	return r, len(data) - len(p.data)
}

// byteFields reads the fields of an encoded reservation. It sets bad if a field is missing or invalid.
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

// term reads a term and the time at which it ends. It returns nil if there is none.
func (f *byteFields) term() (t *Term, due int64) {
	millis := f.int()
	if millis == 0 {
		return nil, 0
	}
	f.bad = f.bad || millis < 1 || millis > MaxWithin.Milliseconds()
	due = f.int()
	t = &Term{Within: time.Duration(millis) * time.Millisecond, Then: Unsettled(f.byte())}
	t.Estimates = f.ints()
	return t, due
}

// ints reads up to [MaxCharges] numbers. It returns nil if the list is empty.
func (f *byteFields) ints() (all []int64) {
	count := f.size()
	f.bad = f.bad || count > MaxCharges
	for n := 0; n < count && !f.bad; n++ {
		all = append(all, f.int())
	}
	return all
}

func (f *byteFields) byte() byte {
	if len(f.data) == 0 {
		f.bad = true
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return b
}

// reserved reads a list of charges. Its length must be in the range from least to most.
func (f *byteFields) reserved(least, most int) (limits []Reserved) {
	count := f.size()
	f.bad = f.bad || count < least || count > most
	for n := 0; n < count && !f.bad; n++ {
		l := Reserved{Space: f.text(), Key: f.text(), Items: f.items()}
		var err error
		if l.Limit, err = ParseLimit(f.text()); err != nil {
			f.bad = true
		}
		l.Units, l.At = f.int(), f.int()
		l.Slot, l.Ends = l.At+f.int(), l.At+f.int()
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
