package policy

type routeFields struct {
	readError

	Match          matchFields    `yaml:"match"`
	Charge         []chargeFields `yaml:"charge"`
	Key            []keyFields    `yaml:"key"`
	EmptyKey       *string        `yaml:"empty_key"`
	EmptyKeyStatus *int64         `yaml:"empty_key_status"`
	Cost           *costFields    `yaml:"cost"`
	Policies       []string       `yaml:"policies"`
	Class          *routeClass    `yaml:"class"`
	Upstream       *string        `yaml:"upstream"`
	RefundOnError  *bool          `yaml:"refund_on_error"`

	line int // the route's line in the file
}

func (r *routeFields) SetLine(line int) { r.line = line }

// chargeFields is one charge of a route as written.
type chargeFields struct {
	readError

	Policy *string     `yaml:"policy"`
	Key    []keyFields `yaml:"key"`
	Cost   *costFields `yaml:"cost"`
}

// upstreamField is an upstream written as a URL or as fields.
type upstreamField struct {
	upstreamFields
	readError
}

type upstreamFields struct {
	URL      string          `yaml:"url"`
	InFlight *inFlightFields `yaml:"in_flight"`
}

// inFlightFields are the bounds on concurrent requests to an upstream.
type inFlightFields struct {
	Min     *int64  `yaml:"min"`
	Max     *int64  `yaml:"max"`
	Latency *string `yaml:"latency"`
	DryRun  *bool   `yaml:"dry_run"`
}

type matchFields struct {
	Host   *string           `yaml:"host"`
	Path   *string           `yaml:"path"`
	Method []string          `yaml:"method"`
	Header map[string]string `yaml:"header"`
	Query  map[string]string `yaml:"query"`
	Client []string          `yaml:"client"`
	When   *string           `yaml:"when"`
}

// keyFields is one part of a key. Exactly one of the sources is set; Lower and Trim change its value.
type keyFields struct {
	readError

	Path     *string         `yaml:"path"`
	Header   *string         `yaml:"header"`
	ClientIP *clientIPFields `yaml:"client_ip"`
	Cookie   *string         `yaml:"cookie"`
	Query    *string         `yaml:"query"`
	JWT      *jwtFields      `yaml:"jwt"`
	Bearer   *bool           `yaml:"bearer"`
	Const    *string         `yaml:"const"`
	Lower    *bool           `yaml:"lower"`
	Trim     *bool           `yaml:"trim"`
}

type clientIPFields struct {
	V6Prefix *int64 `yaml:"v6_prefix"`
}

type jwtFields struct {
	Header *string `yaml:"header"`
	Claim  *string `yaml:"claim"`
}

// costFields is a cost: a number, or the name of the header that contains it.
type costFields struct {
	readError

	number *int64
	header *costHeaderFields
}

// routeClass is a class: a name, or the name of the header that contains it.
type routeClass struct {
	readError

	name   *string
	header *classHeaderFields
}

type classHeaderFields struct {
	Header *string `yaml:"header"`
}

type costHeaderFields struct {
	Header *string `yaml:"header"`
	Max    *int64  `yaml:"max"`
}
