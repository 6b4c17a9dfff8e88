package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Coordinator lets the processes that share a store discover each other and exchange values. A store may
// implement it; memstore and redisstore do.
//
// Times are measured by the store's clock. A name is 1 to [MaxNameBytes] arbitrary bytes. For an argument out of
// bounds, a method returns an [InputError] and changes nothing. A group and a value with the same name are
// unrelated.
type Coordinator interface {
	// Beat keeps a member of a group alive for the given time from now, 10 ms to an hour. It replaces the member's
	// earlier beats. It returns all living members, sorted, including this one. A group can contain at most
	// [MaxMembers]. A beat that would add another one returns [ErrGroupFull].
	Beat(ctx context.Context, group, member string, life time.Duration) (members []string, err error)
	// Leave removes a member from its group. It does nothing if the member is not alive.
	Leave(ctx context.Context, group, member string) error

	// Get returns the value of a name and its version. The version is 0 if there is no value.
	Get(ctx context.Context, name string) (value string, version int64, err error)
	// CompareAndSet stores a value, up to [MaxValueBytes], if the version of the stored value is still the given one.
	// Version 0 means that there must be no value. It returns the current version, and whether this call stored the
	// value. The versions of a name increase and never repeat, even after the store has lost its data, because a new
	// version is never below the store's time in µs. Values do not expire.
	CompareAndSet(ctx context.Context, name string, version int64, value string) (now int64, swapped bool, err error)
}

// Bounds of a [Coordinator].
const (
	MaxNameBytes  = 256
	MaxMembers    = 1000
	MaxValueBytes = 1 << 20

	minLife = 10 * time.Millisecond
	maxLife = time.Hour
)

// ErrGroupFull is returned by a beat that would exceed [MaxMembers] in its group. It matches [ErrStoreUnavailable],
// because it leaves the number of members unknown.
var ErrGroupFull = fmt.Errorf("%w: the group has %d members", ErrStoreUnavailable, MaxMembers)

// CheckName returns an [*InputError] if no [Coordinator] accepts the name.
func CheckName(field, name string) error {
	if name == "" || len(name) > MaxNameBytes {
		return invalid(field, remark(strconv.Itoa(len(name))+" bytes"), "1 to 256 bytes")
	}
	return nil
}

// CheckLife returns an [*InputError] if no [Coordinator] accepts the lifetime of a member.
func CheckLife(life time.Duration) error {
	if life < minLife || life > maxLife || life%time.Microsecond != 0 {
		return invalid("life", life, "10ms to 1h, in whole microseconds")
	}
	return nil
}

// CheckBytes returns an [*InputError] for a value that is too long.
func CheckBytes(field string, length, most int) error {
	if length > most {
		return invalid(field, remark(strconv.Itoa(length)+" bytes"), "up to "+strconv.Itoa(most)+" bytes")
	}
	return nil
}
