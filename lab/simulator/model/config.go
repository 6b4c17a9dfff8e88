package model

import (
	"errors"
	"fmt"
	"slices"
)

// Server is a machine whose workers take requests from one FIFO queue.
type Server struct {
	// Workers is the number of requests served at the same time.
	Workers Course
	Service Service
	// Slowdown is a factor for service times. An empty course means 1.
	Slowdown Course
	// Contention is the fraction that each other request in the server adds to a service time, so that throughput falls
	// when the server handles too many requests (Gunther's universal scalability law).
	Contention float64
	Pause      Pause
	// Drops makes workers skip waiting attempts whose client has given up.
	Drops bool
	// Queue limits the number of waiting requests. Further requests fail immediately. 0 means 100 000.
	Queue int
	// CPU is the fraction of the service time that is CPU time, 0 to 1. The rest is spent waiting for a dependency.
	CPU float64
	// Neighbour is the CPU use of other processes on the host, 0 to 1. It is part of the host's CPU use, but does not
	// slow down the workers.
	Neighbour Course
}

// Config configures a run: the server, its clients, and the duration.
type Config struct {
	Seed uint64
	// Length is how long clients send new requests, in µs.
	Length  int64
	Server  Server
	Clients []Client
	// AtClient places the gate at the client. For a gate at the client, an attempt without a timely response ends as a
	// timeout. For a gate at the server, the attempt ends when the server finishes it.
	AtClient bool
	// Phases are the times when phases begin, starting with 0. Counts are kept by phase.
	Phases []int64
	// Tenants is the number of tenants. 0 means 1.
	Tenants int
	// Attempts is the maximum number of attempts. A run that needs more returns an error. 0 means MaxAttempts.
	Attempts int
}

// Limits on a run.
const (
	MaxAttempts = 20_000_000
	maxClients  = 10_000
	maxUsers    = 10_000
	maxTenants  = 1000
	maxQueue    = 100_000
	maxPhases   = 100
	maxLength   = 24 * 3_600_000_000
	longestWait = 3_600_000_000 // how long to wait for workers after the end of the run
)

var errAttempts = errors.New("model: more attempts than a run may have")

// check sets defaults, and returns an error for the first field that is out of range.
func (c *Config) check() error {
	if c.Tenants == 0 {
		c.Tenants = 1
	}
	if c.Attempts == 0 {
		c.Attempts = MaxAttempts
	}
	if c.Server.Queue == 0 {
		c.Server.Queue = maxQueue
	}
	if len(c.Phases) == 0 {
		c.Phases = []int64{0}
	}
	switch s := &c.Server; {
	case c.Length <= 0 || c.Length > maxLength:
		return fmt.Errorf("model: length %d µs, want 1 to %d", c.Length, int64(maxLength))
	case len(c.Clients) == 0 || len(c.Clients) > maxClients:
		return fmt.Errorf("model: %d clients, want 1 to %d", len(c.Clients), maxClients)
	case c.Tenants < 0 || c.Tenants > maxTenants:
		return fmt.Errorf("model: %d tenants, want 1 to %d", c.Tenants, maxTenants)
	case c.Attempts < 0 || c.Attempts > MaxAttempts:
		return fmt.Errorf("model: %d attempts, want 1 to %d", c.Attempts, MaxAttempts)
	case s.Queue < 0 || s.Queue > maxQueue:
		return fmt.Errorf("model: queue of %d, want 1 to %d", s.Queue, maxQueue)
	case len(c.Phases) > maxPhases || c.Phases[0] != 0:
		return fmt.Errorf("model: %d phases from %d, want 1 to %d from 0", len(c.Phases), c.Phases[0], maxPhases)
	case !slices.IsSorted(c.Phases) || c.Phases[len(c.Phases)-1] >= c.Length:
		return fmt.Errorf("model: phases %v, want them in order and within the run", c.Phases)
	case !(s.Service.Mean >= 1 && s.Service.Mean <= maxLength):
		return fmt.Errorf("model: mean service time %g µs, want 1 to %d", s.Service.Mean, int64(maxLength))
	}
	for i := range c.Clients {
		if err := c.Clients[i].check(c.Tenants); err != nil {
			return fmt.Errorf("model: client %d: %w", i, err)
		}
	}
	return nil
}

func (c *Client) check(tenants int) error {
	switch {
	case c.Tenant < 0 || c.Tenant >= tenants:
		return fmt.Errorf("tenant %d, want 0 to %d", c.Tenant, tenants-1)
	case c.Users < 0 || c.Users > maxUsers:
		return fmt.Errorf("%d users, want 0 to %d", c.Users, maxUsers)
	case (len(c.Rate.points) > 0) == (c.Users > 0):
		return errors.New("want a rate or users, and not both")
	case c.Deadline <= 0 || c.Deadline > maxLength:
		return fmt.Errorf("deadline %d µs, want 1 to %d", c.Deadline, int64(maxLength))
	case c.Retry.Max < 0 || c.Retry.Max > 100 || c.Retry.Base < 0:
		return errors.New("want 0 to 100 retries and a pause that is not negative")
	}
	return nil
}
