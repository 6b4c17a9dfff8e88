package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
)

// Options configure the search for a limit.
type Options struct {
	// Key is the key of a route in YAML: one part, or a list of parts. Path is the pattern for the paths of the
	// limited requests, or "" for all paths.
	Key, Path string
	// Proxies are the addresses and networks of proxies that name their clients, as in trusted_proxies. If there are
	// none, only proxies on the machine of the server are trusted.
	Proxies []string
	// Deny is the largest share of the well-behaved keys that may have denied requests, 0 to 1.
	Deny float64
	// MaxKeys is the maximum number of keys.
	MaxKeys int
	// Listed is the number of keys in each list.
	Listed int
}

// config returns the configuration for a policies file with a route for the key and a policy that never denies.
func (o *Options) config() (*policy.Config, error) {
	config, err := policy.Parse("--key", []byte("policies: {client: {unlimited: true}}\n"+o.routeText("client")))
	if err != nil {
		message := err.Error()
		if errs, ok := err.(policy.Errors); ok && len(errs) > 0 { //nolint:errorlint // Parse returns it as it is
			message = strings.TrimPrefix(errs[0].Message, "routes.0.")
			if proxies, ok := strings.CutPrefix(message, "trusted_proxies"); ok {
				return nil, errors.New("--trusted-proxies" + proxies)
			}
		}
		if !strings.Contains(message, "accepted:") {
			message += "; accepted: client_ip, or parts as in a route, such as {header: X-User} or [client_ip, {path: id}] with --path"
		}
		return nil, fmt.Errorf("--key %s: %s", o.Key, message)
	}
	return config, nil
}

// routeText formats the route for the key, and the trusted proxies.
func (o *Options) routeText(policy string) string {
	match := ""
	if o.Path != "" {
		match = fmt.Sprintf("match: {path: %q}, ", o.Path)
	}
	text := fmt.Sprintf("routes:\n  - {%skey: %s, policies: [%s]}\n", match, o.keyText(), policy)
	if len(o.Proxies) == 0 {
		return text
	}
	var quoted []string
	for _, proxy := range o.Proxies {
		quoted = append(quoted, strconv.Quote(proxy))
	}
	return "trusted_proxies: [" + strings.Join(quoted, ", ") + "]\n" + text
}

// keyText formats the parts of the key as a list.
func (o *Options) keyText() string {
	if text := strings.TrimSpace(o.Key); !strings.HasPrefix(text, "[") {
		return "[" + text + "]"
	}
	return o.Key
}

// maxRequests is the maximum number of requests of a log, which bounds the memory to a few hundred MB.
const maxRequests = 20_000_000

// collector records the requests of the keys in a log.
type collector struct {
	table  *route.Table
	seen   route.Request
	places map[string]int32
	texts  []string
	times  [][]int64
	agents []uint64 // by key, a set of 64 bits, one for each hash of a User-Agent

	requests, noKey, other int64

	most int // the maximum number of keys
}

func (c *collector) add(q *accesslog.Request) error {
	q.Route(&c.seen)
	m, ok := c.table.Find(&c.seen)
	switch {
	case !ok:
		c.other++
		return nil
	case m.NoKey != nil:
		c.noKey++
		return nil
	case c.requests >= maxRequests:
		return fmt.Errorf("the log has more than %d requests; accepted: a part of it", maxRequests)
	}
	place, ok := c.places[m.Items[0].Key]
	if !ok {
		if len(c.texts) >= c.most {
			return fmt.Errorf("the log has more than %d keys; accepted: more with --max-keys, or a part of the log", c.most)
		}
		place = int32(len(c.texts))
		text := strings.Clone(m.Items[0].Key)
		c.places[text] = place
		c.texts, c.times, c.agents = append(c.texts, text), append(c.times, nil), append(c.agents, 0)
	}
	if q.Agent != "" {
		c.agents[place] |= 1 << (xxhash.Sum64String(q.Agent) & 63)
	}
	c.times[place] = append(c.times[place], q.Time)
	c.requests++
	return nil
}

// Run suggests a limit for the keys in a log.
func Run(ctx context.Context, log *accesslog.Log, o Options) (*Result, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	needs := simulate.Needs(config, "--key")
	for i := range needs {
		needs[i].By = "--key " + o.Key
	}
	if err := log.Want(needs); err != nil {
		return nil, err
	}
	c := collector{table: config.Routes, places: map[string]int32{}, most: o.MaxKeys}
	err = log.Run(ctx, func(batch []accesslog.Request) error {
		for i := range batch {
			if err := c.add(&batch[i]); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	if len(c.texts) == 0 {
		return nil, fmt.Errorf("no request of the log has a key by --key %s: %d have no value for it, %d another path", o.Key, c.noKey, c.other)
	}
	c.places = nil // the memory is no longer needed
	charge := &config.Routes.Routes()[0].Charges[0]
	r := &Result{Key: policy.SummarizeCharge(charge).Key, Requests: c.requests, NoKey: c.noKey, Other: c.other, Keys: int64(len(c.texts))}
	f := &finder{options: o, texts: c.texts, times: c.times, all: profiles(c.times, c.agents)}
	f.find(policyName(charge.Key), r)
	return r, nil
}

// finder finds the limit to suggest.
type finder struct {
	options Options
	// texts, times and all are the keys, the times of their requests, and their profiles.
	texts []string
	times [][]int64
	all   []profile
	// behaved and outliers are indices of keys.
	behaved, outliers []int
	// set is the note about a small group of keys that determines the limit, or "" if there is no such group.
	set string
}

// find fills in the result for the keys.
func (f *finder) find(policy string, r *Result) {
	classify(f.all)
	for i := range f.all {
		if f.all[i].outlier {
			f.outliers = append(f.outliers, i)
		} else {
			f.behaved = append(f.behaved, i)
		}
	}
	limit := f.bucket(f.behaved)
	parallel(len(f.all), func(i int) { f.all[i].denied = denied(limit, f.times[i]) })
	for i := range f.all {
		if p := &f.all[i]; p.outlier {
			r.OfOutliers.add(p)
		} else {
			r.OfOthers.add(p)
		}
	}
	f.set = cmp.Or(f.tooMany(), f.setBy(limit))
	r.Percentiles, r.Notes = percentiles(f.all), f.notes()
	r.Suggestion = Suggestion{Policy: policy, Limit: limit.String(), Rate: limit.Rate(0).String(), Burst: limit.Capacity()}
	r.Suggestion.Why = f.reasons(limit)
	r.Outliers = f.list(f.outliers)
	r.Busiest = f.list(slices.Concat(f.outliers, f.behaved))
}

// list describes the keys with the most requests, the busiest first.
func (f *finder) list(keys []int) (list []KeyProfile) {
	for _, n := range highest(len(keys), f.options.Listed, func(n int) float64 { return float64(f.all[keys[n]].requests) }) {
		key := keys[n]
		p, times := &f.all[key], f.times[key]
		list = append(list, KeyProfile{
			Key: f.texts[key], Requests: p.requests, Most: p.most, Agents: p.distinctAgents(), Denied: p.denied,
			From: times[0], To: times[len(times)-1], Why: p.why(),
		})
	}
	return list
}

// policyName returns the name for the key's policy: client, or total if all requests share one key.
func policyName(parts []route.Part) string {
	name := "total"
	for i := range parts {
		switch parts[i].From {
		case route.FromClient:
			return "client"
		case route.FromConst:
		default:
			name = "key"
		}
	}
	return name
}
