package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
)

// Options configure the search for limits.
type Options struct {
	// Key is the key of a route in YAML: one part, or a list of parts. Path is the pattern for the paths of the
	// limited requests, or "" for all paths.
	Key, Path string
	// Proxies are the addresses and networks of proxies that name their clients, as in trusted_proxies. If there are
	// none, only proxies on the machine of the server are trusted.
	Proxies []string
	// Deny is the largest share of the well-behaved keys that may have denied requests, 0 to 1.
	Deny float64
	// MaxKeys is the maximum number of keys. 0 means [simulate.DefaultMaxKeys].
	MaxKeys int
	// Listed is the number of keys in each list.
	Listed int
}

// config returns the configuration for a policies file with a route for the key and a policy that never denies.
func (o *Options) config() (*policy.Config, error) {
	config, err := policy.Parse("--key", []byte("policies: {client: {unlimited: true}}\n"+o.routeText([]string{"client"})))
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
func (o *Options) routeText(policies []string) string {
	match := ""
	if o.Path != "" {
		match = fmt.Sprintf("match: {path: %q}, ", o.Path)
	}
	text := fmt.Sprintf("routes:\n  - {%skey: %s, policies: [%s]}\n", match, o.keyText(), strings.Join(policies, ", "))
	if len(o.Proxies) == 0 {
		return text
	}
	var quoted []string
	for _, proxy := range o.Proxies {
		quoted = append(quoted, yamlText(proxy))
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

// collector records the activity of the keys in a log.
type collector struct {
	table    *route.Table
	seen     route.Request
	places   map[string]int32
	texts    []string
	agents   []uint64
	counts   []int32 // numbers of requests, up to habitsFrom
	habits   map[int32]*habits
	words    texts
	recorder recorder
	all      []int64 // the times of all requests
	noKey    int64
	other    int64
	most     int // the maximum number of keys
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
	}
	place, ok := c.places[m.Items[0].Key]
	if !ok {
		if len(c.texts) >= c.most {
			return fmt.Errorf("the log has more than %d keys; accepted: more with --max-keys, or a part of the log, by --from and --until", c.most)
		}
		place = int32(len(c.texts))
		text := strings.Clone(m.Items[0].Key)
		c.places[text] = place
		c.texts = append(c.texts, text)
		c.agents = append(c.agents, 0)
		c.counts = append(c.counts, 0)
	}
	c.habit(place, q)
	tag := uint16(0)
	if q.Agent != "" {
		hash := xxhash.Sum64String(q.Agent)
		c.agents[place] |= 1 << (hash & 63)
		tag = uint16(hash >> 48)
	}
	if !c.recorder.add(place, q.Time, tag) {
		return fmt.Errorf("the log has more than %d requests; accepted: a part of it, by --from and --until", maxRequests)
	}
	c.all = append(c.all, q.Time)
	return nil
}

// habit counts a request in the habits of its key, starting with the key's request number habitsFrom.
func (c *collector) habit(place int32, q *accesslog.Request) {
	if c.counts[place]++; c.counts[place] < habitsFrom {
		return
	}
	c.counts[place] = habitsFrom
	at := c.habits[place]
	if at == nil {
		if len(c.habits) >= maxHabits {
			return
		}
		at = &habits{}
		c.habits[place] = at
	}
	at.add(q, &c.words)
}

// Run suggests limits for the keys in a log.
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
	if o.MaxKeys == 0 {
		o.MaxKeys = simulate.DefaultMaxKeys
	}
	c := collector{table: config.Routes, places: map[string]int32{}, habits: map[int32]*habits{}, words: newTexts(), most: o.MaxKeys}
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
	return c.find(&o, config), nil
}

// find computes the result from the recorded activity.
func (c *collector) find(o *Options, config *policy.Config) *Result {
	var total [len(Windows)]int64
	for w := range Windows {
		total[w] = mostIn(c.all, Windows[w].Length)
	}
	c.all = nil
	first := &config.Routes.Routes()[0].Charges[0]
	f := &finder{options: *o, policy: policyName(first.Key), texts: c.texts, groups: c.recorder.group(len(c.texts))}
	f.all = profiles(f.groups, c.agents)
	classify(f.all)
	f.split()
	f.set = cmp.Or(f.tooMany(), f.setBy())
	r := &Result{
		Requests: int64(len(f.groups.times)), NoKey: c.noKey, Other: c.other, Keys: int64(len(f.all)),
		Percentiles: percentiles(f.all, total), Notes: f.notes(),
	}
	r.Key = policy.SummarizeCharge(first).Key
	r.Suggestions = f.suggestions()
	r.Effect = f.effect(r.Suggestions)
	r.Effect.PeakBefore = total[inSecond]
	r.Protection = f.denyText(&r.Effect)
	r.Outliers, r.Shared = f.listed(outlier), f.listed(shared)
	r.Busiest = f.list(f.every(func(*profile) bool { return true }))
	for _, list := range [][]KeyProfile{r.Outliers, r.Shared, r.Busiest} {
		for i := range list {
			list[i].Did = c.habits[list[i].place].did(&c.words)
		}
	}
	return r
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

// denyText returns a sentence that compares the share of well-behaved keys with denied requests to the requested share.
func (f *finder) denyText(e *Effect) string {
	asked := shareText(f.options.Deny)
	if float64(e.BehavedDenied) <= f.options.Deny*float64(e.Behaved) {
		return fmt.Sprintf("At most %s of the keys that behave are denied something: %d of %d.", asked, e.BehavedDenied, e.Behaved)
	}
	return fmt.Sprintf("More than %s of the keys that behave are denied something by the limits together: %d of %d.", asked, e.BehavedDenied, e.Behaved)
}

// shareText formats a share from 0 to 1 as a percentage, such as "2.5 %".
func shareText(share float64) string { return fmt.Sprintf("%g %%", share*100) }
