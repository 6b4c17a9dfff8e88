package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Coordinator lets the processes that share a store know of one another: who is
// alive, what has changed. Stores may implement it; those of this module do.
//
// Times are the store's. Names are any bytes, 1 to [MaxNameBytes]; anything out
// of its bounds is an [InputError], and nothing changes. Members, topics and
// values have names of their own: a topic is not a value.
type Coordinator interface {
	// Beat says that a member of a group lives for so long from now, 10 ms to
	// an hour, whatever it said before. It answers all members that live,
	// sorted, this one included. A group has [MaxMembers]; one more is an
	// [ErrGroupFull].
	Beat(ctx context.Context, group, member string, life time.Duration) (members []string, err error)
	// Leave ends a member's life. One that does not live has left already.
	Leave(ctx context.Context, group, member string) error

	// Publish sends a message, up to [MaxMessageBytes], to those who listen to
	// the topic now. It is a hint: a message can be lost on its way, and what a
	// promise rests on is a version that is asked for.
	Publish(ctx context.Context, topic, message string) error
	// Subscribe hands the messages of a topic to heard, one after another, each
	// publisher's in order. It calls ready once messages will be heard, and
	// returns ctx's error when ctx ends, [ErrClosed] when the store is closed,
	// and [ErrStoreUnavailable] when the connection is lost.
	Subscribe(ctx context.Context, topic string, ready func(), heard func(message string)) error

	// Get answers a value and its version: 0 where there is none.
	Get(ctx context.Context, name string) (value string, version int64, err error)
	// CompareAndSet stores a value, up to [MaxValueBytes], if the version is
	// still the one given; 0 stores it only where there is none. It answers the
	// version that holds now, and whether it is that of this call. Versions of
	// a name grow, and do not come again, also where the store lost its data
	// and starts anew: they are not below the store's time in µs. Values do
	// not expire.
	CompareAndSet(ctx context.Context, name string, version int64, value string) (now int64, swapped bool, err error)
}

// The bounds of a [Coordinator].
const (
	MaxNameBytes    = 256
	MaxMembers      = 1000
	MaxMessageBytes = 64 << 10
	MaxValueBytes   = 1 << 20

	minLife = 10 * time.Millisecond
	maxLife = time.Hour
)

// ErrGroupFull is the error of a beat of one member too many. It matches
// [ErrStoreUnavailable]: the caller does not know how many members there are.
var ErrGroupFull = fmt.Errorf("%w: the group has %d members", ErrStoreUnavailable, MaxMembers)

// CheckName returns an [*InputError] for a name that no [Coordinator] accepts.
func CheckName(field, name string) error {
	if name == "" || len(name) > MaxNameBytes {
		return invalid(field, remark(strconv.Itoa(len(name))+" bytes"), "1 to 256 bytes")
	}
	return nil
}

// CheckLife returns an [*InputError] for the life of a member that no
// [Coordinator] accepts.
func CheckLife(life time.Duration) error {
	if life < minLife || life > maxLife || life%time.Microsecond != 0 {
		return invalid("life", life, "10ms to 1h, in whole microseconds")
	}
	return nil
}

// CheckBytes returns an [*InputError] for a message or value that is too long.
func CheckBytes(field string, length, most int) error {
	if length > most {
		return invalid(field, remark(strconv.Itoa(length)+" bytes"), "up to "+strconv.Itoa(most)+" bytes")
	}
	return nil
}
