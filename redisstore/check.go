package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scriptCommands lists the commands that scripts call. The user's ACL must allow them.
var scriptCommands = []string{
	"time", "get", "mget", "set", "psetex", "del", "getrange", "setrange", "strlen", "pexpire", "pttl", "hget", "hset", "hmget", "hdel",
	"zadd", "zrem", "zscore", "zrange", "zrangebyscore", "zcard", "zremrangebyscore",
}

// writeMany is a command that merged scripts use if the server supports it and the user may call it. Otherwise they
// write key by key.
const writeMany = "msetex"

// askWriteMany asks the server whether it can write many keys with one command, until the server has answered. The key
// is in the marker's slot, so that the command needs no node other than the marker's. An error that does not come from
// the command itself is no answer.
func (s *Store) askWriteMany(ctx context.Context) {
	if s.askedMany.Load() {
		return
	}
	key := s.prefix + "/probe/{" + s.markerKey() + "}"
	var replies [1]Reply
	s.conn.Do(ctx, []Command{{Key: key, Args: []string{"EVAL", fragment(embedded, "write_many"), "1", key}}}, replies[:])
	refused, ok := errors.AsType[*ServerError](replies[0].Err)
	if ok && slices.Contains([]Class{NoPermission, Other}, classOf(refused.Text)) || replies[0].Err == nil {
		s.writesMany.Store(replies[0].Err == nil)
		s.askedMany.Store(true)
	}
}

// Check returns warnings for the operator about settings that would break guarantees: a maxmemory-policy that evicts
// states before they expire, a version that is not known to decide correctly, and missing permissions, with the ACL
// rules that grant them. An error means that this store cannot use the server, or that the server did not answer: see
// [Store.EnsureFormat]. Check also asks again whether the server can write many keys with one command.
func (s *Store) Check(ctx context.Context) (warnings []string, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	s.askedMany.Store(false)
	s.refusedCommands.forget()
	if err := s.EnsureFormat(ctx); err != nil {
		return nil, err
	}
	key := s.prefix + "/probe/{" + s.prefix + "}"
	commands := []Command{
		{Key: key, Args: []string{"EVAL", fragment(embedded, "probe"), "1", key}},
		{Args: []string{"INFO", "server"}}, // from any node of a Cluster
		{Args: []string{"INFO", "memory"}},
	}
	replies := make([]Reply, len(commands))
	s.conn.Do(ctx, commands, replies)
	warnings, err = s.permissionWarnings(ctx, &replies[0])
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

// clientCommands lists the other commands that a store and the clients of both adapters send. rueidis sends ROLE to the
// server that Sentinel names. go-redis requests the list of commands from a Cluster (COMMAND).
var clientCommands = []string{
	"eval", "evalsha", "hscan", "ping", "hello", "info", "select", "role", "command", "asking", "cluster|slots", "cluster|shards",
}

// Permissions returns the ACL rules that a store's user needs: commands and keys.
func (s *Store) Permissions() string {
	commands := slices.Concat(scriptCommands, clientCommands)
	return fmt.Sprintf("~%s/* +%s", s.prefix, strings.Join(commands, " +"))
}

// aclAdvice is appended to errors about permissions.
func (s *Store) aclAdvice() string {
	return "; the user needs: ACL SETUSER <name> on " + s.Permissions()
}

// advise appends aclAdvice to an error about permissions.
func (s *Store) advise(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == NoPermission {
		return fmt.Errorf("%w%s", err, s.aclAdvice())
	}
	return err
}

// permissionWarnings returns the warnings that follow from the reply of probe.lua.
func (s *Store) permissionWarnings(ctx context.Context, reply *Reply) (warnings []string, err error) {
	advice := s.aclAdvice()
	if reply.Err != nil {
		return nil, s.advise(s.wrap(ctx, nil, reply.Err))
	}
	for i := range reply.List {
		text := reply.List[i].Text
		name, answer, _ := strings.Cut(text, ": ")
		switch classOf(answer) {
		case NoPermission:
			warnings = append(warnings, "no permission for "+name+advice)
		case Other:
			warnings = append(warnings, "the command "+name+" does not work: "+answer)
		default: // errors such as READONLY and OOM are temporary, and fail only the affected calls: see Refused
			_ = s.scriptError(nil, answer, false)
			return append(warnings, "the server answers: "+answer), nil
		}
	}
	return warnings, nil
}

// versionWarning returns a warning if the server's version is not covered by the conformance tests.
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
	const advice = "; `headgate verify --store URL storetest/vectors/*.json` shows whether it decides right"
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

// MemoryUsed returns how much of its maxmemory the server uses, from 0 to 1. It returns 0 if the server has no maximum.
// On a Cluster it asks one node.
func (s *Store) MemoryUsed(ctx context.Context) (float64, error) {
	info, err := s.sendOptional(ctx, "", "INFO", "memory")
	if err != nil {
		return 0, err
	}
	most, err := strconv.ParseFloat(infoField(info.Text, "maxmemory"), 64)
	if err != nil || most == 0 {
		return 0, err
	}
	used, err := strconv.ParseFloat(infoField(info.Text, "used_memory"), 64)
	return used / most, err
}

// infoField returns a field of the reply to INFO.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
