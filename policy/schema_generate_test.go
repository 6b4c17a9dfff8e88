package policy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// Schema returns the JSON Schema (draft 2020-12) of the policies file, for editors and other tools. It is generated
// from the table [engine.Fields] and from the structs into which [Parse] decodes.
//
// Parse rejects everything that the schema rejects, with two exceptions: the schema does not accept a field without a
// value, or a number or boolean instead of text (the key 5 must be written "5"). Parse also rejects files that the
// schema accepts. For example, a schema cannot check whether an override's policy exists.
func Schema() ([]byte, error) {
	limit := object(reflect.TypeFor[LimitFields]())
	delete(limit["properties"].(schema), "all") // only policies have these
	delete(limit["properties"].(schema), "first")
	top := object(reflect.TypeFor[file]())
	top["patternProperties"] = schema{"^x-": schema{"description": "Ignored. A place for values with an anchor, which others repeat by an alias."}}
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "Headgate policies file"
	top["$defs"] = schema{
		"policy":         textOr(complete(object(reflect.TypeFor[policyBody]()), "all", "first")),
		"limit":          textOr(schema{"$ref": "#/$defs/limitWhole"}),
		"limitWhole":     complete(schema{"$ref": "#/$defs/limitFields"}),
		"limitFields":    limit,
		"fieldsAllowed":  schema{"allOf": perAlgorithm(fieldsAllowed)},
		"fieldsRequired": schema{"allOf": perAlgorithm(fieldsRequired)},
		"route":          routeForms(),
		"class":          required(object(reflect.TypeFor[classFields]()), "name"),
		"charge":         required(object(reflect.TypeFor[chargeFields]()), "policy", "key"),
		"set":            schema{"allOf": []schema{{"$ref": "#/$defs/limitFields"}, {"$ref": "#/$defs/fieldsAllowed"}}},
		"override":       override(),
		"shadow":         schema{"oneOf": []schema{{"type": "boolean"}, textOr(schema{"$ref": "#/$defs/set"})}},
		"routeCost":      schema{"oneOf": []schema{units(0), costHeader()}},
		"routeClass":     schema{"oneOf": []schema{{"type": "string", "pattern": namePattern}, required(object(reflect.TypeFor[classHeaderFields]()), "header")}},
		"keyPart":        keyPart(),
		"jwt":            required(object(reflect.TypeFor[jwtFields]()), "claim"),
		"tls":            required(object(reflect.TypeFor[tlsFields]()), "cert", "key"),
		"window":         required(object(reflect.TypeFor[WindowFields]()), "limit", "window"),
	}
	text, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("policy: schema: %w", err)
	}
	return append(text, '\n'), nil
}

// definitions maps types to their names in the schema.
var definitions = map[reflect.Type]string{
	reflect.TypeFor[policyFields]():   "policy",
	reflect.TypeFor[tlsFields]():      "tls",
	reflect.TypeFor[LimitSpec]():      "limit",
	reflect.TypeFor[LimitFields]():    "set",
	reflect.TypeFor[overrideFields](): "override",
	reflect.TypeFor[WindowFields]():   "window",
	reflect.TypeFor[shadowFields]():   "shadow",
	reflect.TypeFor[routeFields]():    "route",
	reflect.TypeFor[chargeFields]():   "charge",
	reflect.TypeFor[classFields]():    "class",
	reflect.TypeFor[keyFields]():      "keyPart",
	reflect.TypeFor[costFields]():     "routeCost",
	reflect.TypeFor[routeClass]():     "routeClass",
	reflect.TypeFor[jwtFields]():      "jwt",
}

// valueOf describes values of a type.
func valueOf(t reflect.Type) schema {
	if name, ok := definitions[t]; ok {
		return schema{"$ref": "#/$defs/" + name}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return valueOf(t.Elem())
	case reflect.Slice:
		return schema{"type": "array", "items": valueOf(t.Elem())}
	case reflect.Map:
		values := schema{"type": "object", "additionalProperties": valueOf(t.Elem())}
		if t.Elem() == reflect.TypeFor[*policyFields]() {
			values["propertyNames"] = schema{"pattern": namePattern}
		}
		return values
	case reflect.Struct:
		return object(t)
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int64:
		return schema{"type": "integer"}
	default:
		return schema{"type": "string"}
	}
}

// object describes a struct as an object with a property for each field that Parse accepts, and no other properties.
func object(t reflect.Type) schema {
	properties := schema{}
	for f, of := range fieldsIn(t) {
		properties[f.Name] = property(of, &f)
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
}

const (
	namePattern     = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`
	upstreamPattern = `^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+(/[^?#]*)?$`
	spans           = `([0-9.]+(ns|us|µs|μs|ms|s|m|h|d|w))`
)

// patterns contains the text forms that a schema can check, by field name.
var patterns = map[string]string{
	"unit":     unitPattern,
	"rate":     `^\+?[0-9]+/([0-9.]*(ns|us|µs|μs|ms|s|m|h|d|w)` + spans + `*|1?mo|1?y)$`,
	"window":   `^(` + spans + `+|1mo|1y)$`,
	"max_wait": `^` + spans + `+$`,
	"segment":  `^` + spans + `+$`,
	"leaves":   `^([0-9]{1,2}%|[0-9]+)$`,
	"lease":    `^` + spans + `+$`,
}

var (
	bounds = regexp.MustCompile(`^(\d+) to (\d+)`)
	words  = regexp.MustCompile(`^[a-z0-9-]+(, [a-z0-9-]+)+$`)
)

// property describes the values of one field. Bounds such as "1 to 8" and words such as "deny, allow" in the field's
// accepted values become part of the schema.
func property(t reflect.Type, f *engine.Field) schema {
	s := valueOf(t)
	s["description"] = f.About
	if f.Name == "upstreams" {
		s["propertyNames"] = schema{"pattern": namePattern}
		address := schema{"type": "string", "pattern": upstreamPattern}
		fields := required(object(reflect.TypeFor[upstreamFields]()), "url")
		fields["properties"].(schema)["url"] = address
		fields["properties"].(schema)["in_flight"] = required(object(reflect.TypeFor[inFlightFields]()), "min", "max", "latency")
		s["additionalProperties"] = schema{"oneOf": []schema{address, fields}}
		s["maxProperties"] = MaxUpstreams
	}
	if f.Name == "leaves" {
		s["type"], s["minimum"] = []string{"string", "integer"}, 0
	}
	if pattern, ok := patterns[f.Name]; ok {
		s["pattern"] = pattern
	}
	if s["type"] == "string" && words.MatchString(f.Accepted) {
		s["enum"] = strings.Split(f.Accepted, ", ")
	}
	if match := bounds.FindStringSubmatch(f.Accepted); match != nil {
		switch s["type"] {
		case "integer":
			s["minimum"], s["maximum"] = json.Number(match[1]), json.Number(match[2])
		case "array":
			s["minItems"], s["maxItems"] = json.Number(match[1]), json.Number(match[2])
		}
	}
	return s
}

// textOr describes a limit or policy that is either a single string or fields.
func textOr(fields schema) schema {
	return schema{"oneOf": []schema{{"type": "string", "description": `A limit as text, such as "100/s burst 200".`}, fields}}
}

func required(s schema, names ...string) schema {
	s["required"] = names
	return s
}

// complete adds the requirements for a whole limit: an algorithm with its rate or windows, or one of the fields that
// replace an algorithm.
func complete(s schema, replacements ...string) schema {
	var one []schema
	for _, name := range append([]string{"algorithm", "deny", "unlimited"}, replacements...) {
		one = append(one, required(schema{}, name))
	}
	s["anyOf"] = one
	s["allOf"] = []schema{{"$ref": "#/$defs/fieldsAllowed"}, {"$ref": "#/$defs/fieldsRequired"}}
	return s
}

// perAlgorithm returns one rule per algorithm: a limit that names the algorithm must match the schema returned by
// then(algorithm).
func perAlgorithm(then func(algo.Algorithm) schema) (rules []schema) {
	for _, a := range fileAlgorithms {
		named := required(schema{"properties": schema{"algorithm": schema{"enum": a.Names()}}}, "algorithm")
		rules = append(rules, schema{"if": named, "then": then(a)})
	}
	return rules
}

// fieldsAllowed forbids fields that do not apply to the algorithm. If the algorithm divides its units among keys, it
// also sets the minimum of limit or burst.
func fieldsAllowed(a algo.Algorithm) schema {
	forbidden := schema{}
	for f := range engine.Fields() {
		switch {
		case f.On(a) || !slices.ContainsFunc(fileAlgorithms, f.On):
		case f.Kind == engine.FieldRates && !a.Refills():
			forbidden[f.Name] = schema{"maxItems": 1} // another form of limit and window
		default:
			forbidden[f.Name] = false
		}
	}
	switch least := (schema{"minimum": engine.LeastDivided}); {
	case a.Divides() && a.Holds():
		forbidden["limit"] = least
	case a.Divides() && !a.Paces():
		forbidden["burst"] = least
	}
	switch {
	case a.Refills():
		forbidden["limit"], forbidden["window"] = false, false
	case a.Holds():
		forbidden["rate"], forbidden["window"], forbidden["windows"] = false, false, false
	default:
		forbidden["rate"] = false
	}
	return schema{"properties": forbidden}
}

// fieldsRequired requires the rate of a limit that refills, the limit of a concurrency limit, or the windows of other
// limits.
func fieldsRequired(a algo.Algorithm) schema {
	switch {
	case a.Refills():
		return required(schema{}, "rate")
	case a.Holds():
		return required(schema{}, "limit")
	}
	return schema{"anyOf": []schema{required(schema{}, "limit", "window"), required(schema{}, "windows")}}
}

// units describes a number of units, from least to algo.MaxUnits.
func units(least int) schema {
	return schema{"type": "integer", "minimum": least, "maximum": algo.MaxUnits}
}

// costHeader describes the header with the cost of a request.
func costHeader() schema {
	return required(object(reflect.TypeFor[costHeaderFields]()), "header", "max")
}

// routeForms describes the two forms of a route: one key for its policies, or charges.
func routeForms() schema {
	without := func(names ...string) schema {
		none := schema{}
		for _, name := range names {
			none[name] = false
		}
		return schema{"properties": none}
	}
	s := object(reflect.TypeFor[routeFields]())
	s["oneOf"] = []schema{required(without("charge"), "key", "policies"), required(without("key", "policies", "cost"), "charge")}
	return s
}

// keyPart describes one part of a key: exactly one of its fields, or the single word client_ip.
func keyPart() schema {
	s := object(reflect.TypeFor[keyFields]())
	var sources []schema
	for _, source := range []string{"path", "header", "cookie", "query", "jwt"} {
		sources = append(sources, required(schema{}, source))
	}
	for _, source := range []string{"client_ip", "bearer", "const"} { // their values have one spelling
		sources = append(sources, required(schema{"properties": schema{"lower": false, "trim": false}}, source))
	}
	s["oneOf"] = sources
	return schema{"oneOf": []schema{{"const": "client_ip", "description": "The client, as {client_ip: {v6_prefix: 64}}."}, s}}
}

// override describes one override: exactly one of set, deny: true, unlimited: true, or only a class. With set, an
// override can also have a class.
func override() schema {
	s := required(object(reflect.TypeFor[overrideFields]()), "policy", "key")
	yes := func(name string) schema {
		return required(schema{"properties": schema{name: schema{"const": true}}}, name)
	}
	s["oneOf"] = []schema{required(schema{}, "set"), yes("deny"), yes("unlimited"), required(schema{"properties": schema{"set": false}}, "class")}
	return s
}
