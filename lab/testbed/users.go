package testbed

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/redisstore"
)

// UserName and its password are for the user that stores connect as. This user has exactly the rights listed by
// [redisstore.Store.Permissions].
const (
	UserName = "app"
	UserWord = "pw"
)

// User manages the user's rights on a deployment's servers.
type User struct {
	servers []*redistest.Server
	holders func() []*redistest.Server
	mu      sync.Mutex
	given   map[string]int // number of running tests that use a prefix
}

// Guard returns the deployment with a user that stores connect as. When the test ends, Guard checks the servers' ACL
// logs for refused commands (regression: bug 46).
func Guard(t *testing.T, d Deployment) Deployment {
	t.Helper()
	d.User = &User{servers: d.all, holders: d.Holders, given: map[string]int{}}
	for _, s := range d.all {
		s.MustDo("acl", "setuser", UserName, "reset", "on", ">"+UserWord)
		_, _ = s.Do("acl", "setuser", UserName, "+msetex") // older servers do not have this command
	}
	t.Cleanup(func() {
		for _, s := range d.all {
			for _, what := range refusals(t, s) {
				t.Errorf("the ACL that the docs give refuses %s", what)
			}
		}
	})
	return d
}

// refusals returns the entries in a server's ACL log: reason, context, command or key.
func refusals(t *testing.T, s *redistest.Server) (all []string) {
	t.Helper()
	answer, err := s.Do("acl", "log", 100)
	if err != nil {
		t.Logf("%s was killed: %v", s.Addr(), err)
	}
	list, _ := answer.([]any)
	for _, entry := range list {
		fields, _ := entry.([]any)
		what := map[string]string{}
		for i := 0; i+1 < len(fields); i += 2 {
			what[fmt.Sprint(fields[i])] = fmt.Sprint(fields[i+1])
		}
		all = append(all, what["reason"]+" "+what["context"]+" "+what["object"]+" "+what["username"])
	}
	return all
}

// Permit grants the rights for a prefix until the test ends.
func (u *User) Permit(t testing.TB, prefix string) {
	t.Helper()
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	t.Cleanup(func() { u.withdraw(prefix) })
	if u.given[prefix]++; u.given[prefix] > 1 {
		return
	}
	store, err := redisstore.New(struct{ redisstore.Conn }{}, redisstore.Config{Prefix: prefix}) // nothing is sent
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range u.servers {
		s.MustDo(append([]any{"acl", "setuser", UserName}, Words(store.Permissions())...)...)
	}
}

// deleteScript deletes all keys that match a pattern.
const deleteScript = `for _, key in ipairs(redis.call('keys', ARGV[1])) do redis.call('del', key) end return 1`

// withdraw deletes the keys with a prefix and withdraws the rights for the prefix when the last test that uses it ends.
// If they were kept, each command would be compared with the prefixes of all earlier tests, and each check by an
// [Audit] would list all their keys.
func (u *User) withdraw(prefix string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.given[prefix]--; u.given[prefix] > 0 {
		return
	}
	delete(u.given, prefix)
	for _, s := range u.holders() {
		if s != nil { // some tests kill servers
			_, _ = s.Do("eval", deleteScript, 0, prefix+"/*")
		}
	}
	rules := []any{"acl", "setuser", UserName, "resetkeys", "resetchannels"}
	for other := range u.given {
		rules = append(rules, "~"+other+"/*", "&"+other+"/*")
	}
	for _, s := range u.servers {
		_, _ = s.Do(rules...)
	}
}

// In returns a URL with the user's name and password inserted.
func (u *User) In(url string) string {
	if u == nil {
		return url
	}
	return strings.Replace(url, "://", fmt.Sprintf("://%s:%s@", UserName, UserWord), 1)
}

// Of makes a client connect as the user.
func (u *User) Of(client redis.UniversalClient) {
	if u == nil {
		return
	}
	switch c := client.(type) {
	case *redis.Client:
		c.Options().Username, c.Options().Password = UserName, UserWord
	case *redis.ClusterClient:
		c.Options().Username, c.Options().Password = UserName, UserWord
	}
}

func Words(text string) (list []any) {
	for word := range strings.FieldsSeq(text) {
		list = append(list, word)
	}
	return list
}
