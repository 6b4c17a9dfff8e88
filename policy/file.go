package policy

// file is the policies file as written; descriptions.go describes the fields. Fields of
// type any are reserved for features that do not exist yet: a file that sets one is
// rejected.
type file struct {
	Policies       map[string]*policyFields `yaml:"policies"`
	Overrides      []overrideFields         `yaml:"overrides"`
	TrustedProxies any                      `yaml:"trusted_proxies"`
	Routes         any                      `yaml:"routes"`
	Upstreams      any                      `yaml:"upstreams"`
	Listeners      listenersFields          `yaml:"listeners"`
	Store          storeFields              `yaml:"store"`
}

// policyFields is a policy as text or as fields.
type policyFields struct {
	policyBody
	text string
}

type policyBody struct {
	LimitFields `yaml:",inline"`

	Failure *string `yaml:"failure"`
	Mode    *string `yaml:"mode"`
	Shadow  *bool   `yaml:"shadow"`
	Enabled *bool   `yaml:"enabled"`
	Cost    *int64  `yaml:"cost"`
	Headers *string `yaml:"headers"`
}

// UnmarshalYAML reads a text such as "100/s", or fields.
func (p *policyFields) UnmarshalYAML(unmarshal func(any) error) error {
	if err := unmarshal(&p.text); err == nil {
		return nil
	}
	return unmarshal(&p.policyBody)
}

type overrideFields struct {
	Policy    *string      `yaml:"policy"`
	Key       *string      `yaml:"key"`
	Set       *LimitFields `yaml:"set"`
	Deny      *bool        `yaml:"deny"`
	Unlimited *bool        `yaml:"unlimited"`

	// on is what Set changes, if it is not the policy's own limit: see [Config.With].
	on *LimitSpec
}

type listenersFields struct {
	RESP  *listenerFields `yaml:"resp"`
	HTTP  *listenerFields `yaml:"http"`
	GRPC  any             `yaml:"grpc"`
	Admin any             `yaml:"admin"`
}

type listenerFields struct {
	Address   *string `yaml:"address"`
	UsersFile any     `yaml:"users_file"`
	TLS       any     `yaml:"tls"`
}

type storeFields struct {
	URL          *string `yaml:"url"`
	PasswordFile *string `yaml:"password_file"`
}
