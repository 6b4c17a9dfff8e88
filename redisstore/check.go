package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// scriptCommands are what the scripts use, as a user's ACL must allow them.
var scriptCommands = []string{
	"time", "get", "mget", "set", "del", "getrange", "setrange", "strlen", "pexpire", "hget", "hset", "hmget", "hdel",
	"zadd", "zrem", "zscore", "zrange", "zrangebyscore", "zcard", "zremrangebyscore", "scan",
}

// Check asks the server for what would break promises, in words for its
// operator: a maxmemory-policy that evicts what still counts, a version that is
// not known to decide right, missing permissions, with the ACL line that gives
// them. An error means that the server cannot be used at all, or not so: see
// [Store.Agree].
func (s *Store) Check(ctx context.Context) (warnings []string, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.Agree(ctx); err != nil {
		return nil, err
	}
	key := s.prefix + "/probe/{" + s.prefix + "}"
	commands := []Command{
		{Key: key, Args: []string{"EVAL", text("probe"), "1", key}},
		{Key: key, Args: []string{"INFO", "server"}},
		{Key: key, Args: []string{"INFO", "memory"}},
	}
	// INFO has no key: on a Cluster any node will do.
	commands[1].Key, commands[2].Key = "", ""
	replies := make([]Reply, len(commands))
	s.conn.Do(ctx, commands, replies)
	warnings, err = s.permissions(ctx, &replies[0])
	if err != nil {
		return nil, err
	}
	if w := versionWarning(&replies[1]); w != "" {
		warnings = append(warnings, w)
	}
	if w := memoryWarning(&replies[2]); w != "" {
		warnings = append(warnings, w)
	}
	return warnings, nil
}

// clientCommands are what a store and the clients of both adapters send besides.
// rueidis asks for the ROLE of the server that Sentinels name, and ends a
// connection that listened with DISCARD and one command of @pubsub for each kind
// of subscription, which not all versions have. go-redis asks a Cluster for its
// COMMANDs.
var clientCommands = []string{
	"eval", "evalsha", "ping", "hello", "info", "select", "role", "command", "@pubsub", "discard", "asking", "cluster|slots", "cluster|shards",
}

// Permissions returns the ACL rules that a store's user needs: commands, keys,
// channels.
func (s *Store) Permissions() string {
	return fmt.Sprintf("~%s/* &%s/* +%s +%s", s.prefix, s.prefix, strings.Join(scriptCommands, " +"), strings.Join(clientCommands, " +"))
}

// advice says which rights are missing, behind an error.
func (s *Store) advice() string {
	return "; the user needs: ACL SETUSER <name> on " + s.Permissions()
}

func (s *Store) permissions(ctx context.Context, reply *Reply) (warnings []string, err error) {
	advice := s.advice()
	if reply.Err != nil {
		wrapped := s.wrap(ctx, reply.Err)
		var e *Error
		if errors.As(wrapped, &e) && e.Class == NoPermission {
			return nil, fmt.Errorf("%w%s", wrapped, advice)
		}
		return nil, wrapped
	}
	for i := range reply.List {
		text := reply.List[i].Text
		name, said, _ := strings.Cut(text, ": ")
		switch classOf(said) {
		case NoPermission:
			warnings = append(warnings, "no permission for "+name+advice)
		case Other:
			warnings = append(warnings, "the command "+name+" does not work: "+said)
		default: // READONLY, OOM and their like pass, and are told when they matter
			return append(warnings, "the server answers: "+said), nil
		}
	}
	return warnings, nil
}

// versionWarning knows the servers whose answers were compared with the exact
// ones.
func versionWarning(info *Reply) string {
	if info.Err != nil {
		return "the server does not tell its version: " + info.Err.Error()
	}
	name, version := "Redis", infoField(info.Text, "redis_version")
	if v := infoField(info.Text, "valkey_version"); v != "" {
		name, version = "Valkey", v
	}
	if v := infoField(info.Text, "dragonfly_version"); v != "" {
		name, version = "Dragonfly", v
	}
	major, err := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	const advice = "; `headgate verify --store URL testdata/vectors/*.json` shows whether it decides right"
	switch {
	case name == "Dragonfly" || err != nil:
		return fmt.Sprintf("%s %q is not known to decide right%s", name, version, advice)
	case major < 5:
		return fmt.Sprintf("%s %s is older than 5, whose scripts may not write after asking for the time", name, version)
	}
	return ""
}

func memoryWarning(info *Reply) string {
	if info.Err != nil {
		return "the server does not tell its maxmemory-policy: " + info.Err.Error()
	}
	policy := infoField(info.Text, "maxmemory_policy")
	if policy == "" || policy == "noeviction" {
		return ""
	}
	return fmt.Sprintf("maxmemory-policy is %s: when memory is full the server forgets keys that still count, "+
		"and their limits start again; set it to noeviction", policy)
}

// infoField returns a field of INFO's answer.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
