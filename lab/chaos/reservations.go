package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// reserve reserves units of policies until end is called. It settles most reservations a while later, either with the
// number of used units or with 0.
func (c *callers) reserve(random *rand.Rand, process int, address string) {
	for !c.stop.Load() {
		pause(random)
		l, key := c.draw(random, c.reserving)
		a, reservation := c.reserveUnits(process, address, l, key, 1+random.Int64N(8))
		if a.allowed && random.IntN(5) > 0 { // one in five reservations is never settled
			time.Sleep(time.Duration(random.Int64N(int64(900 * time.Millisecond))))
			a.used = max(0, random.Int64N(2*a.reserved)-a.reserved+1) // about half of the reservations use nothing
			_, _ = c.post(address, "/v1/commit", map[string]any{"reservation": reservation, "actual": a.used}, &struct{}{})
		}
		c.keep(a)
	}
}

// reserveUnits reserves units over HTTP. Until the reservation is settled, all of them count as used.
func (c *callers) reserveUnits(process int, address string, l *limit, key string, units int64) (a answer, reservation string) {
	a = answer{limit: l, key: key, process: process, sent: c.now(), reserved: units, used: units}
	reservation = c.decide(&a, address, "/v1/reserve", map[string]any{"policy": l.policy, "key": key, "cost": units, "max_delay_ms": 0})
	return a, reservation
}

// ownKey returns the key that only a process's refund uses.
func ownKey(process int) string { return fmt.Sprint("own", process) }

// refund cancels reservations when their units have refilled and have been taken again, until end is called. Such a
// cancellation must give nothing back, although earlier charges have not refilled yet. Each process has its own key, so
// that no other caller takes the units.
func (c *callers) refund(process int, address string) {
	l, key := limitOf(c.limits, held), ownKey(process)
	take := func() {
		for range l.count {
			c.keep(c.take(process, address, l, key))
		}
	}
	for !c.stop.Load() {
		time.Sleep(450 * time.Millisecond) // 9 of 10 units refill
		a, reservation := c.reserveUnits(process, address, l, key, 8)
		time.Sleep(380 * time.Millisecond)
		take()
		if reservation != "" {
			a.used = 0
			_, _ = c.post(address, "/v1/cancel", map[string]any{"reservation": reservation}, &struct{}{})
		}
		c.keep(a)
		take()
	}
}
