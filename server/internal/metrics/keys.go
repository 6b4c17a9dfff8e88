package metrics

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/server/internal/metric"
	"github.com/headgate/headgate/server/internal/service"
)

// keys estimates the number of distinct keys in each minute with HyperLogLog, because a flood of new keys would
// otherwise show only when the store is full. It takes 8 KiB, whatever the number of keys.
type keys struct {
	current, last atomic.Pointer[keyMinute]
	rotate        sync.Mutex
}

// registers is the number of registers of an estimate. Its standard error is 1.04/√registers, 2.3 %.
const (
	registerBits = 11
	registers    = 1 << registerBits
)

// keyMinute has the keys of one minute. A register holds the longest run of zero bits in the hashes that belong to it.
type keyMinute struct {
	minute    int64 // since 1970
	registers [registers]atomic.Uint32
}

var keySeed = maphash.MakeSeed() // unknown to clients, who could otherwise choose keys that count as one

// observe adds the keys of the requests that take units.
func (k *keys) observe(o *service.Observed) {
	m := k.at(o.Ended)
	for i := range o.Requests {
		if !o.Requests[i].Kind.Takes() {
			continue
		}
		if key := o.Key(i); key != "" {
			m.add(maphash.String(keySeed, key))
		}
	}
}

func (k *keys) at(t time.Time) *keyMinute {
	minute := t.Unix() / 60
	if m := k.current.Load(); m != nil && m.minute >= minute {
		return m
	}
	k.rotate.Lock()
	defer k.rotate.Unlock()
	m := k.current.Load()
	if m == nil || m.minute < minute {
		k.last.Store(m)
		m = &keyMinute{minute: minute}
		k.current.Store(m)
	}
	return m
}

func (m *keyMinute) add(hash uint64) {
	register := &m.registers[hash>>(64-registerBits)]
	run := uint32(bits.LeadingZeros64(hash<<registerBits|1<<(registerBits-1)) + 1)
	for {
		now := register.Load()
		if run <= now || register.CompareAndSwap(now, run) {
			return
		}
	}
}

// estimate returns the number of keys. Few keys are counted by the registers that are still empty.
func (m *keyMinute) estimate() float64 {
	const bias = 0.7213 / (1 + 1.079/registers)
	sum, empty := 0.0, 0.0
	for i := range m.registers {
		run := m.registers[i].Load()
		sum += math.Ldexp(1, -int(run))
		if run == 0 {
			empty++
		}
	}
	estimate := bias * registers * registers / sum
	if estimate <= 2.5*registers && empty > 0 {
		estimate = registers * math.Log(registers/empty)
	}
	return math.Round(estimate)
}

// lastMinute returns the number of distinct keys in the minute before the one of now.
func (k *keys) lastMinute(now time.Time) float64 {
	k.at(now)
	if last := k.last.Load(); last != nil && last.minute == now.Unix()/60-1 {
		return last.estimate()
	}
	return 0
}

var keysTable = metric.NewTable(
	metric.Row[*Metrics]{
		Name:  "headgate_keys_per_minute",
		Help:  "Distinct keys of requests in the last whole minute, an estimate with a standard error of 2.3 %.",
		Value: func(m *Metrics) float64 { return m.keys.lastMinute(time.Now()) },
	},
)
