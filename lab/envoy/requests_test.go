package envoy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// configuration holds the parts of a configuration file that are needed for drawing requests.
type configuration struct {
	Domain      string
	Descriptors []configured
}

type configured struct {
	Key, Value  string
	Descriptors []configured
}

func readConfiguration(t *testing.T, path string) configuration {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c configuration
	if err := yaml.Load(data, &c); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return c
}

// descriptor returns a descriptor with the given entries. Its arguments are keys, each followed by its value.
func descriptor(words ...string) *ratelimit.RateLimitDescriptor {
	d := &ratelimit.RateLimitDescriptor{}
	for i := 0; i < len(words); i += 2 {
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: words[i], Value: words[i+1]})
	}
	return d
}

func request(domain string, descriptors ...*ratelimit.RateLimitDescriptor) *pb.RateLimitRequest {
	return &pb.RateLimitRequest{Domain: domain, Descriptors: descriptors}
}

// drawn returns a random request, which usually matches rules in the configuration.
func (c *configuration) drawn(r *rand.Rand) *pb.RateLimitRequest {
	q := &pb.RateLimitRequest{Domain: c.Domain, HitsAddend: []uint32{0, 0, 0, 1, 2, 5}[r.IntN(6)]}
	for range 1 + r.IntN(3) {
		d := &ratelimit.RateLimitDescriptor{}
		if r.IntN(10) == 0 {
			override(d, r)
		} else {
			draw(d, c.Descriptors, r)
		}
		if r.IntN(4) == 0 {
			d.HitsAddend = wrapperspb.UInt64([]uint64{0, 0, 1, 3, 40}[r.IntN(5)])
		}
		q.Descriptors = append(q.Descriptors, d)
	}
	switch r.IntN(60) {
	case 0:
		q.Domain = ""
	case 1:
		q.Domain = "absent"
	case 2:
		q.Descriptors = nil
	case 3:
		q.Descriptors[0].Entries = nil
	}
	return q
}

// draw appends entries along a path in the configuration, and sometimes departs from the path.
func draw(d *ratelimit.RateLimitDescriptor, level []configured, r *rand.Rand) {
	for len(level) > 0 {
		at := level[r.IntN(len(level))]
		key, value := at.Key, at.Value
		switch {
		case strings.HasSuffix(value, "*") && r.IntN(8) > 0:
			value = strings.TrimSuffix(value, "*") + fmt.Sprint(r.IntN(3))
		case value == "" && r.IntN(8) > 0, r.IntN(8) == 0:
			value = fmt.Sprintf("u%d", r.IntN(3))
		}
		if r.IntN(40) == 0 {
			key = "stray"
		}
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: key, Value: value})
		if r.IntN(4) == 0 {
			break
		}
		level = at.Descriptors
	}
	if r.IntN(15) == 0 {
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: "more", Value: "x"})
	}
}

// override gives a descriptor its own limit. A key always gets the same unit of time, because envoyproxy/ratelimit
// counts a key's hits under different units together as long as their windows start at the same time.
func override(d *ratelimit.RateLimitDescriptor, r *rand.Rand) {
	units := []typev3.RateLimitUnit{
		typev3.RateLimitUnit_SECOND, typev3.RateLimitUnit_MINUTE, typev3.RateLimitUnit_HOUR, typev3.RateLimitUnit_DAY,
		typev3.RateLimitUnit_MONTH, typev3.RateLimitUnit_YEAR,
	}
	unit := units[r.IntN(len(units))]
	d.Entries = descriptor("override", unit.String()).Entries
	d.Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: []uint32{0, 1, 4, 1000}[r.IntN(4)], Unit: unit}
}
