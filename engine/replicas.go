package engine

import (
	"fmt"
	"time"
)

// Bounds of [Replicas].
const (
	// MaxReplicas is the largest number of replicas that an operation can wait for.
	MaxReplicas = 16
	// MaxReplicaWait is the longest time that an operation can wait for replicas.
	MaxReplicaWait = 10 * time.Second
)

// Replicas is the number of the store's replicas that must have received a charge before the operation is answered as
// allowed, and the longest wait for them. If fewer replicas have received the charge by then, the operation gets
// [ErrNotReplicated]. The zero Replicas does not wait.
type Replicas struct {
	// Count is the number of replicas: 0 to [MaxReplicas].
	Count uint8
	// WithinMillis is the longest wait in milliseconds: 1 to 10000.
	WithinMillis uint16
}

// NewReplicas returns the Replicas with the given count, 1 to [MaxReplicas], and longest wait, in whole milliseconds,
// 1 ms to [MaxReplicaWait]. The error is an [*InputError].
func NewReplicas(count int, within time.Duration) (Replicas, error) {
	if count < 1 || count > MaxReplicas {
		return Replicas{}, invalid("replicas", count, "1 to 16")
	}
	if within < time.Millisecond || within > MaxReplicaWait || within%time.Millisecond != 0 {
		return Replicas{}, invalid("replica_timeout", within, "whole milliseconds, 1ms to 10s")
	}
	return Replicas{Count: uint8(count), WithinMillis: uint16(within.Milliseconds())}, nil
}

// Within returns the longest wait.
func (r Replicas) Within() time.Duration { return time.Duration(r.WithinMillis) * time.Millisecond }

// String formats the requirement: "1 within 20ms", or "none".
func (r Replicas) String() string {
	if r.Count == 0 {
		return "none"
	}
	return fmt.Sprintf("%d within %s", r.Count, FormatSpan(r.Within()))
}

// Both returns the stricter combination: the larger count and the longer wait.
func (r Replicas) Both(other Replicas) Replicas {
	switch {
	case r.Count == 0:
		return other
	case other.Count == 0:
		return r
	default:
		return Replicas{Count: max(r.Count, other.Count), WithinMillis: max(r.WithinMillis, other.WithinMillis)}
	}
}

// check returns an [*InputError] for a non-zero Replicas that is out of range.
func (r Replicas) check() error {
	_, err := NewReplicas(int(r.Count), r.Within())
	return err
}
