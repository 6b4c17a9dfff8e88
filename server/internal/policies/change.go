package policies

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// Bounds of changes.
const (
	// MaxChanges is the maximum number of changes. A further change causes an error.
	MaxChanges = 10_000
	// MaxAuthorBytes and MaxReasonBytes are the maximum lengths of a change's author and reason.
	MaxAuthorBytes = 256
	MaxReasonBytes = 1024
)

// Change is a change to a policy or to the limit of one key, on top of the file.
type Change struct {
	adminapi.Change

	// For is how long the change lasts, on the clock that also applies to Expires. It is an alternative to Expires.
	For time.Duration `json:"-"`
	// Before and After describe the target before and after the change was made or cleared. See [Describe].
	Before string `json:"-"`
	After  string `json:"-"`
	// Ignored is the error because of which the change is not active, or nil.
	Ignored error `json:"-"`
}

// By says who makes or clears a change: the name that the operator wrote, the user that the admin listener has
// authenticated, and the reason.
type By struct{ Author, User, Reason string }

func (c *Change) by() By { return By{c.Author, c.User, c.Reason} }

// The errors that [Manager.Change] and [Manager.Clear] return, besides errors about invalid input.
var (
	// ErrConflict is returned if another change to the same target was stored in the meantime.
	ErrConflict = errors.New("another change was made in the meantime")
	// ErrTooMany is returned for a change beyond [MaxChanges].
	ErrTooMany = fmt.Errorf("there are %d changes; clear some, or write them into the file", MaxChanges)
	// ErrNoChange is returned if there is no change to clear.
	ErrNoChange = errors.New("there is no such change")
)

// name identifies the target of a change. A later change with the same name replaces the earlier one.
type name struct{ policy, key string }

func (c *Change) name() name { return name{c.Policy, c.Key} }

func (n name) compare(other name) int {
	return cmp.Or(cmp.Compare(n.policy, other.policy), cmp.Compare(n.key, other.key))
}

func (c *Change) expired(now time.Time) bool { return !c.Expires.IsZero() && !now.Before(c.Expires) }

// check returns an [*engine.InputError] if every server rejects the change, regardless of its file.
func (c *Change) check(now time.Time) error {
	switch {
	case c.Author == "" || len(c.Author) > MaxAuthorBytes || !utf8.ValidString(c.Author):
		return &engine.InputError{Field: "author", Value: fmt.Sprint(len(c.Author), " bytes"), Accepted: "1 to 256 bytes of UTF-8"}
	case len(c.Reason) > MaxReasonBytes || !utf8.ValidString(c.Reason):
		return &engine.InputError{Field: "reason", Value: fmt.Sprint(len(c.Reason), " bytes"), Accepted: "up to 1024 bytes of UTF-8"}
	case !json.Valid(c.Fields):
		return &engine.InputError{Field: "fields", Value: "not JSON", Accepted: `the fields of a policy, such as {"rate":"50/s"}`}
	case c.expired(now):
		return &engine.InputError{Field: "expires", Value: c.Expires.Format(time.RFC3339), Accepted: "a time in the future"}
	}
	return nil
}

// onFile returns the change as package policy applies it to a file.
func (c *Change) onFile() policy.Change {
	return policy.Change{Policy: c.Policy, Key: c.Key, Fields: string(c.Fields), Ends: c.Expires}
}

// describe describes the current state of a change's target.
func (m *Manager) describe(c *Change) string { return Describe(m.current, c.Policy, c.Key) }

// audit logs a change with its author, and with the state of its target before and after the change. If c replaced
// another change, that change is passed in before, and is logged too. Otherwise before is nil.
func (m *Manager) audit(action string, c, before *Change, by By) {
	attributes := []any{"action", action, "policy", c.Policy}
	if c.Key != "" {
		attributes = append(attributes, "key", m.config.ShowKey(c.Key))
	}
	attributes = append(attributes, "author", by.Author)
	if by.User != "" {
		attributes = append(attributes, "user", by.User)
	}
	attributes = append(attributes, "reason", by.Reason, "before", c.Before, "after", c.After)
	if before != nil {
		attributes = append(attributes, "old", string(before.Fields), "old_version", before.Version)
	}
	if action == actionChange {
		attributes = append(attributes, "new", string(c.Fields), "version", c.Version)
		if !c.Expires.IsZero() {
			attributes = append(attributes, "expires", c.Expires.Format(time.RFC3339))
		}
	}
	m.config.Logger.Info("audit", attributes...)
}

// The audited actions.
const (
	actionChange = "change"
	actionClear  = "clear"
	actionExpire = "expire"
)
