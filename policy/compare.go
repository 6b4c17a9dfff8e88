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

// Restart returns the settings that differ between the files and take effect only after a restart of the server.
func (c *Config) Restart(other *Config) (settings []string) {
	if c.Listeners != other.Listeners {
		settings = append(settings, "listeners")
	}
	if c.Store != other.Store || c.StorePasswordFile != other.StorePasswordFile {
		settings = append(settings, "store")
	}
	return settings
}
