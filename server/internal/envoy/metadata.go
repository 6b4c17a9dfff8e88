package envoy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/headgate/headgate/policy/yamlfile"
)

// metadata returns the metadata that a descriptor adds to answers. It returns nil if the descriptor has none.
func (f *fields) metadata() (*structpb.Struct, error) {
	n := f.child("metadata")
	if n == nil || len(n.Pairs) == 0 {
		return nil, nil //nolint:nilnil // a descriptor without metadata is not an error
	}
	v, err := n.value()
	if err != nil {
		return nil, located(fmt.Errorf("error parsing metadata: %w", err), n.At)
	}
	return v.GetStructValue(), nil
}

// value converts a value in the file to protobuf.
func (n *node) value() (*structpb.Value, error) {
	switch n.kind() {
	case yamlfile.Null:
		return structpb.NewNullValue(), nil
	case yamlfile.Truth:
		return structpb.NewBoolValue(truth[n.Text]), nil
	case yamlfile.Integer, yamlfile.Float:
		number, err := parseNumber(n.Text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", n.shown())
		}
		return structpb.NewNumberValue(number), nil
	case yamlfile.List:
		items := make([]*structpb.Value, len(n.Items))
		for i, item := range n.Items {
			var err error
			if items[i], err = (*node)(item).value(); err != nil {
				return nil, err
			}
		}
		return structpb.NewListValue(&structpb.ListValue{Values: items}), nil
	case yamlfile.Mapping:
		s := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for _, p := range n.Pairs {
			v, err := (*node)(p.Value).value()
			if err != nil {
				return nil, err
			}
			s.Fields[p.Key.Text] = v
		}
		return structpb.NewStructValue(s), nil
	default:
		return structpb.NewStringValue(n.Text), nil
	}
}

// parseNumber parses a YAML number.
func parseNumber(text string) (float64, error) {
	text = strings.ReplaceAll(text, "_", "")
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return float64(i), nil
	}
	v, err := strconv.ParseFloat(strings.Replace(text, ".inf", "inf", 1), 64)
	if err == nil && (math.IsInf(v, 0) || math.IsNaN(v)) {
		return 0, errors.New("not a finite number")
	}
	return v, err
}

// mergeMetadata adds the fields of another rule's metadata. If both contain a field, the first value is kept, except
// that two mappings are merged. Only the argument into changes, not the rules.
func mergeMetadata(into, from *structpb.Struct) {
	for name, value := range from.GetFields() {
		have, ok := into.Fields[name]
		if !ok {
			into.Fields[name] = proto.CloneOf(value)
			continue
		}
		if a, b := have.GetStructValue(), value.GetStructValue(); a != nil && b != nil {
			mergeMetadata(a, b)
		}
	}
}

// dynamicMetadata describes the request for Envoy's other filters. It includes the metadata of the rules that are not
// over their limits.
func dynamicMetadata(request *pb.RateLimitRequest, matches []match, statuses []status) *structpb.Struct {
	descriptors := make([]*structpb.Value, len(request.Descriptors))
	passed := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for i, d := range request.Descriptors {
		descriptors[i] = descriptionOf(d)
		if m := &matches[i]; m.quota != nil && m.rule != nil && statuses[i].Code == pb.RateLimitResponse_OK {
			mergeMetadata(passed, m.rule.metadata)
		}
	}
	all := map[string]*structpb.Value{
		"domain":      structpb.NewStringValue(request.Domain),
		"descriptors": structpb.NewListValue(&structpb.ListValue{Values: descriptors}),
	}
	if request.HitsAddend != 0 {
		all["hitsAddend"] = structpb.NewNumberValue(float64(request.HitsAddend))
	}
	if len(passed.Fields) > 0 {
		all["metadata"] = structpb.NewStructValue(passed)
	}
	return &structpb.Struct{Fields: all}
}

// bare describes an empty descriptor. It is shared because an empty descriptor takes only two bytes of a request, so a
// request can contain very many of them.
var bare = structpb.NewStructValue(describe(nil))

// descriptionOf returns the description of a descriptor. Descriptions may share memory.
func descriptionOf(d *ratelimit.RateLimitDescriptor) *structpb.Value {
	if len(d.GetEntries()) == 0 && d.GetLimit() == nil && d.GetHitsAddend() == nil {
		return bare
	}
	return structpb.NewStructValue(describe(d))
}

// describe builds the description of one of the request's descriptors.
func describe(d *ratelimit.RateLimitDescriptor) *structpb.Struct {
	entries := make([]*structpb.Value, len(d.GetEntries()))
	for i, e := range d.GetEntries() {
		entries[i] = structpb.NewStringValue(e.GetKey() + "=" + e.GetValue())
	}
	fields := map[string]*structpb.Value{"entries": structpb.NewListValue(&structpb.ListValue{Values: entries})}
	if d.GetLimit() != nil {
		fields["limit"] = structpb.NewStringValue(d.GetLimit().String())
	}
	if d.GetHitsAddend() != nil {
		fields["hitsAddend"] = structpb.NewNumberValue(float64(d.GetHitsAddend().GetValue()))
	}
	return &structpb.Struct{Fields: fields}
}
