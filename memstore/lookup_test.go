package memstore

import (
	"math/big"
	"strconv"
	"testing"

	"github.com/headgate/headgate/engine"
)

// A hash equals the key's polynomial at both points, computed with unbounded integers. The first coefficient is the
// key's length, and the others are seven bytes each.
func FuzzHash(f *testing.F) {
	for n := range 24 {
		f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"[:n], uint64(1<<60-1), uint64(3))
	}
	f.Add("user:000000000012345", uint64(1<<59+77), uint64(1<<58+3))
	prime := big.NewInt(1<<61 - 1)
	reduced := func(v uint64) uint64 { return v % (1<<61 - 1) }
	f.Fuzz(func(t *testing.T, key string, a, b uint64) {
		points := secret{a >> 4, b >> 4}
		first, second := points.values(key)
		for i, got := range []uint64{first, second} {
			want := big.NewInt(int64(len(key)))
			for rest := key; ; rest = rest[7:] {
				part := []byte(rest[:min(7, len(rest))])
				for l, r := 0, len(part)-1; l < r; l, r = l+1, r-1 {
					part[l], part[r] = part[r], part[l] // the first byte is the lowest
				}
				want.Mul(want, new(big.Int).SetUint64(points[i]))
				want.Add(want, new(big.Int).SetBytes(part))
				if len(rest) <= 7 {
					break
				}
			}
			if want.Mod(want, prime); reduced(got) != want.Uint64() || got >= 1<<63 {
				t.Errorf("%q at %d: %d, want %d modulo 2^61-1, below 2^63", key, points[i], got, want)
			}
		}
	})
}

// Different stores have different secrets, and each bit of a hash depends on the key.
func TestHashDependsOnSecretAndKey(t *testing.T) {
	one, other := newSecret(), newSecret()
	if one == other || one[0]>>60 != 0 || one[1]>>60 != 0 {
		t.Errorf("two secrets are %x and %x", one, other)
	}
	seen := [2]hash{{^uint64(0), ^uint64(0)}} // bits set in all hashes, bits set in any
	keys := map[hash]string{}
	for i := range 100_000 {
		key := string([]byte{'k', byte(i), byte(i >> 8), byte(i >> 16)})
		h := one.hash(key)
		if same, found := keys[h]; found {
			t.Fatalf("%q and %q have the same hash", same, key)
		}
		keys[h] = key
		seen[0].lo &= h.lo
		seen[0].hi &= h.hi
		seen[1].lo |= h.lo
		seen[1].hi |= h.hi
	}
	if seen != [2]hash{{}, {^uint64(0), ^uint64(0)}} {
		t.Errorf("bits set in all hashes %x, in any %x", seen[0], seen[1])
	}
}

// A slot compares every stored bit of the hash. Its mark contains other bits.
func TestSlotComparesEveryBit(t *testing.T) {
	h := newSecret().hash("k")
	for bit := range 128 {
		other := h
		if bit < 64 {
			other.lo ^= 1 << bit
		} else {
			other.hi ^= 1 << (bit - 64)
		}
		slot, mark := h.slot(), bit >= 24 && bit < 31
		if same := slot.of(other); same != (bit < 32) || (h.mark() != other.mark()) != mark {
			t.Errorf("bit %d: the slot belongs to both hashes: %v; marks %x and %x", bit, same, h.mark(), other.mark())
		}
	}
}

// TestOneKeyUnderManyPolicies checks that a key under thousands of policies is found within a few places (regression: bug
// 130) (regression: bug 106).
func TestOneKeyUnderManyPolicies(t *testing.T) {
	const policies = 5000
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	limit := parse(t, "fixed-window 10/1h")
	result := make([]engine.Answer, 1)
	for i := range policies {
		op := engine.Single(engine.OpAllow, "ann", limit, 1)
		op.Space = engine.PolicySpace("p" + strconv.Itoa(i))
		if s.Do(t.Context(), []engine.Op{op}, result); result[0].Err != nil || !result[0].Allowed {
			t.Fatal(result[0])
		}
	}
	h := &s.shards[s.shard(s.secret.hash("ann"))]
	longest := 0
	for i := range policies {
		c := s.scopes.of(engine.PolicySpace("p"+strconv.Itoa(i)), limit)
		key, _ := s.counter(c, limit.Numbers(), "ann")
		place, home := h.find(&s.scopes, key, c), h.table.home(key.hi)
		longest = max(longest, (place-home+len(h.table.slots))%len(h.table.slots))
	}
	if longest > policies/4 { // it was nearly 5000
		t.Errorf("a policy's state is %d places behind the first one of its key", longest)
	}
}
