package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/policies"
)

const (
	// loadTimeout is how long the server waits at the start for the changes in the store.
	loadTimeout = 10 * time.Second
	// returnTimeout is how long a change to a leased limit waits for its prefetched units to return to the store.
	returnTimeout = time.Second
)

// errStateFile is the configuration error for a state file together with Redis, where servers share their changes.
var errStateFile = errors.New("--state-file: on Redis all servers keep changes there; accepted: none, or --store memory")

// loadPolicies activates the file's policies with the changes on top.
func (d *Daemon) loadPolicies(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	changes, now := policies.NewMemory(), time.Now
	if d.store.Redis != nil {
		now = (&storeClock{limiter: d.limiter}).now
	}
	switch {
	case d.store.Redis != nil && d.config.StateFile != "":
		return errStateFile
	case d.store.Redis != nil:
		changes = policies.NewShared(d.store.Redis)
	case d.config.StateFile != "":
		if changes, err = policies.OpenStateFile(d.config.StateFile); err != nil {
			return err
		}
	}
	file := d.admin.file("config")
	rejected := func(err error) {
		file(err)
		d.admin.rejected(err)
	}
	d.policies, err = policies.New(ctx, policies.Config{
		File: d.config.ConfigFile, Base: d.config.Base, Gateway: d.config.Gateway != nil, Changes: changes, Apply: d.applyPolicies, Logger: d.config.Logger,
		Now: now, Rejected: rejected, ShowKey: d.config.namedKey(),
		External: d.config.GRPC.EnvoyConfig != "",
	})
	if err == nil && d.config.ConfigFile != "" {
		d.follow(d.policies.Reload, d.config.ConfigFile)
	}
	return err
}

// applyPolicies activates policies. Before that, it returns the prefetched units of changing limits to the store.
func (d *Daemon) applyPolicies(ctx context.Context, c *policy.Config) (generation uint64, err error) {
	set := c.Policies
	if d.store.Prefetch != nil {
		ctx, cancel := context.WithTimeout(ctx, returnTimeout)
		defer cancel()
		err = d.store.Prefetch.SetSpaces(ctx, set.Leased())
	}
	if d.admin != nil {
		d.admin.metrics.SetPolicies(set)
		d.admin.shadows.SetPolicies(set)
		d.admin.metrics.Reloaded(err)
	}
	generation = d.service.SetPolicies(set, c.Routes)
	for _, name := range set.Names() {
		d.limiter.KeepRoom(d.limiter.Space(engine.PolicySpace(name)))
	}
	if !d.config.NoInline {
		d.limiter.KeepRoom(d.limiter.Space(decide.InlineSpace))
	}
	d.keepUpstreams(c.Routes)
	d.usersPolicies.activated(set.Names())
	return generation, err
}
