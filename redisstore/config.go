package redisstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// Config configures a store. The zero Config means the defaults.
type Config struct {
	// Prefix is the prefix of every key: 1 to 64 bytes without braces. The default is "hg". Stores with
	// different prefixes share nothing.
	Prefix string
	// MaxInFlight bounds the calls in flight, 1 to 65536. Further calls wait until one has ended or their context ends.
	// The default is 1024.
	MaxInFlight int
	// Shards is the number of hash tags shared by all subjects, 1 to 1024. If it is 0, each subject has its own hash
	// tag. On a Cluster, operations on subjects with the same tag share one script call, so a small number is faster.
	// Use at least the number of nodes. All processes that share the data must use the same value: see
	// [Store.EnsureFormat].
	Shards int
	// Clock replaces the server's time, and keeps every key for an hour after its state has expired. It is for tests,
	// and for replaying recorded answers. A store with a Clock uses other scripts, because the scripts for real
	// requests do not accept a time.
	Clock func() time.Time
}

// The defaults of a Config.
const (
	DefaultPrefix      = "hg"
	DefaultMaxInFlight = 1024
)

// Check returns an [*engine.InputError] if a field is out of range.
func (c Config) Check() error {
	if len(c.Prefix) > 64 || strings.ContainsAny(c.Prefix, "{}") {
		return &engine.InputError{Field: "prefix", Value: fmt.Sprintf("%q", c.Prefix), Accepted: "1 to 64 bytes without braces"}
	}
	if c.MaxInFlight < 0 || c.MaxInFlight > 1<<16 {
		return &engine.InputError{Field: "max_in_flight", Value: fmt.Sprint(c.MaxInFlight), Accepted: "1 to 65536"}
	}
	if c.Shards < 0 || c.Shards > MaxShards {
		return &engine.InputError{Field: "shards", Value: fmt.Sprint(c.Shards), Accepted: "0 to 1024"}
	}
	return nil
}

// New returns a store on the connection. Closing the store closes the connection. New does not call the server: see
// [Store.EnsureFormat] and [Store.Check]. If the connection or a value in c is not accepted, the error is an
// [*engine.InputError].
func New(conn Conn, c Config) (*Store, error) {
	if conn == nil {
		return nil, engine.InvalidInput("conn", "nil", "a connection of adapter/goredis or adapter/rueidis")
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	return newStore(conn, c), nil
}
