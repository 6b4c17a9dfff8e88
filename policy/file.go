package policy

// file is the policies file as written. descriptions_test.go describes its fields for the JSON Schema. Fields of type any
// are reserved for future features, and a file that sets one is rejected. A configuration is built only from these fields.
type file struct {
	Policies       map[string]*policyFields `yaml:"policies"`
	Overrides      []overrideFields         `yaml:"overrides"`
	TrustedProxies []string                 `yaml:"trusted_proxies"`
	RealIP         bool                     `yaml:"x_real_ip"`
	Routes         []routeFields            `yaml:"routes"`
	Upstreams      map[string]upstreamField `yaml:"upstreams"`
	Listeners      listenersFields          `yaml:"listeners"`
	Store          storeFields              `yaml:"store"`

	gateway bool // routes may charge concurrency policies: see [Reader]
}

// readError records whether reading a struct caused an error.
type readError struct{ broken bool }

func (f *readError) MarkBroken() { f.broken = true }

// policyFields is a policy written as text or as fields.
type policyFields struct {
	policyBody
	text  string
	space string // namespace of the counters, for a policy made elsewhere; "" means the policy's own
}

// limit returns the limit of a policy without "all".
func (p *policyFields) limit() *LimitSpec {
	return &LimitSpec{Text: p.text, LimitFields: p.LimitFields}
}

type policyBody struct {
	LimitFields `yaml:",inline"`
	readError

	Settings settingValues `yaml:",table"`
}

// classFields is a class of requests as written.
type classFields struct {
	Name   *string `yaml:"name"`
	Leaves *string `yaml:"leaves"`
	Weight *int64  `yaml:"weight"`
}

// shadowFields is the shadow setting: true, false, or a limit to try.
type shadowFields struct {
	on    bool
	limit *LimitSpec
}

type overrideFields struct {
	readError

	Policy    *string      `yaml:"policy"`
	Key       *string      `yaml:"key"`
	Set       *LimitFields `yaml:"set"`
	Class     *string      `yaml:"class"`
	Deny      *bool        `yaml:"deny"`
	Unlimited *bool        `yaml:"unlimited"`

	// on is the limit whose fields the Set field replaces. It is nil for the policy's own limit: see [Config.With].
	on *LimitSpec
	// text is the limit as text, and ends is its end as in a rule, in a change.
	text string
	ends int64
}

type listenersFields struct {
	RESP  *listenerFields `yaml:"resp"`
	HTTP  *listenerFields `yaml:"http"`
	GRPC  *listenerFields `yaml:"grpc"`
	Admin *adminFields    `yaml:"admin"`
}

type listenerFields struct {
	Address   *string    `yaml:"address"`
	UsersFile *fileName  `yaml:"users_file"`
	TLS       *tlsFields `yaml:"tls"`
}

type adminFields struct {
	Address   *string    `yaml:"address"`
	TokenFile *fileName  `yaml:"token_file"`
	TLS       *tlsFields `yaml:"tls"`
}

type tlsFields struct {
	readError

	Cert     fileName `yaml:"cert"`
	Key      fileName `yaml:"key"`
	ClientCA fileName `yaml:"client_ca"`
}

// fileName is the name of a file with secrets, users or certificates. An empty name would mean that there are none, so it is
// an error.
type fileName string

type storeFields struct {
	URL          *string   `yaml:"url"`
	PasswordFile *fileName `yaml:"password_file"`
}
