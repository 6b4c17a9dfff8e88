package policy

import (
	"reflect"
	"strings"
)

// Equal reports whether the contents of both files are equal.
func (c *Config) Equal(other *Config) bool { return reflect.DeepEqual(c.file, other.file) }

// EqualPolicy reports whether both files define the policy and its overrides in the same way.
func (c *Config) EqualPolicy(other *Config, name string) bool {
	return reflect.DeepEqual(c.file.Policies[name], other.file.Policies[name]) &&
		reflect.DeepEqual(c.file.overridesOf(name), other.file.overridesOf(name))
}

func (f *file) overridesOf(name string) (of []overrideFields) {
	for i := range f.Overrides {
		if o := &f.Overrides[i]; o.Policy != nil && (*o.Policy == name || strings.HasPrefix(*o.Policy, name+"/")) {
			of = append(of, *o)
		}
	}
	return of
}

// Restart returns the names of the settings that differ between the files and take effect only after a restart of the
// server.
func (c *Config) Restart(other *Config) (settings []string) {
	for _, l := range []struct {
		name        string
		own, others Listener
	}{
		{"resp", c.Listeners.RESP, other.Listeners.RESP},
		{"http", c.Listeners.HTTP, other.Listeners.HTTP},
		{"grpc", c.Listeners.GRPC, other.Listeners.GRPC},
		{"admin", c.Listeners.Admin, other.Listeners.Admin},
	} {
		if l.own.Address != l.others.Address {
			settings = append(settings, "listeners."+l.name+".address")
			l.own.Address = l.others.Address
		}
		if l.own != l.others {
			settings = append(settings, "listeners."+l.name)
		}
	}
	for _, s := range []struct{ name, own, others string }{
		{"store.url", c.Store, other.Store},
		{"store.password_file", c.StorePasswordFile, other.StorePasswordFile},
	} {
		if s.own != s.others {
			settings = append(settings, s.name)
		}
	}
	return settings
}
