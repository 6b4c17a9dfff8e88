package policy

import "reflect"

// Equal reports whether the contents of both files are equal.
func (c *Config) Equal(other *Config) bool { return reflect.DeepEqual(c.file, other.file) }

// EqualTarget reports whether both files define the target of a change in the same way: the policy or, with a key, the
// overrides for that key or pattern.
func (c *Config) EqualTarget(other *Config, name, key string) bool {
	if key == "" {
		return reflect.DeepEqual(c.file.Policies[name], other.file.Policies[name])
	}
	return reflect.DeepEqual(c.overrideOf(name, key), other.overrideOf(name, key))
}

// overrideOf returns the file's override for a key or pattern, or nil.
func (c *Config) overrideOf(name, key string) *overrideFields {
	for i := range c.file.Overrides {
		if o := &c.file.Overrides[i]; o.Key != nil && *o.Key == key && c.Policies.OverrideTarget(*o.Policy) == name {
			return o
		}
	}
	return nil
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
