package route

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/interpreter"

	"github.com/headgate/headgate/engine"
)

// These constants bound a when condition. One unit of cost is one step of the evaluation, or ten bytes read.
const (
	maxWhenBytes = 4096
	maxWhenCost  = 100_000
	// The cost estimate assumes that each string has at most assumedText bytes, and that the headers and the query
	// have at most assumedFields fields each.
	assumedText   = 4096
	assumedFields = 64
)

// When is a CEL condition.
type When struct {
	text    string
	program cel.Program
	errors  atomic.Uint64
}

// The variables of a when condition.
const (
	varMethod  = "request.method"
	varHost    = "request.host"
	varPath    = "request.path"
	varQuery   = "request.query"
	varHeaders = "request.headers"
	varSize    = "request.size"
	varClient  = "request.client"
)

const whenAccepted = "a condition in CEL over " + varMethod + ", " + varHost + ", " + varPath + ", " + varQuery + ", " +
	varHeaders + ", " + varSize + " and " + varClient

var environment = func() func() (*cel.Env, error) {
	fields := cel.MapType(cel.StringType, cel.StringType)
	env, err := cel.NewEnv(
		cel.Variable(varMethod, cel.StringType), cel.Variable(varHost, cel.StringType), cel.Variable(varPath, cel.StringType),
		cel.Variable(varQuery, fields), cel.Variable(varHeaders, fields),
		cel.Variable(varSize, cel.IntType), cel.Variable(varClient, cel.StringType),
		cel.ParserExpressionSizeLimit(maxWhenBytes), cel.ParserRecursionLimit(64),
		cel.ASTValidators(cel.ValidateRegexLiterals()),
	)
	return func() (*cel.Env, error) { return env, err }
}()

// CompileWhen compiles a condition. It returns an error if the condition can cost more than 100 000 units for a
// request with 64 headers and strings of 4096 bytes. If the evaluation for a larger request reaches that bound, the
// evaluation ends, and the request is refused.
func CompileWhen(text string) (*When, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("when: %w", err)
	}
	if len(text) > maxWhenBytes {
		return nil, engine.InvalidInput("when", fmt.Sprintf("%d bytes", len(text)), fmt.Sprintf("at most %d bytes", maxWhenBytes))
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, engine.InvalidInput("when", engine.Quote(text)+", "+firstIssue(issues), whenAccepted)
	}
	if ast.OutputType() != cel.BoolType {
		return nil, engine.InvalidInput("when", engine.Quote(text)+", which is of type "+ast.OutputType().String(), "a condition: true or false")
	}
	estimate, err := env.EstimateCost(ast, estimator{})
	if err != nil {
		return nil, fmt.Errorf("when: %w", err)
	}
	if estimate.Max > maxWhenCost {
		return nil, engine.InvalidInput("when", fmt.Sprintf("%s, which can cost %d units", engine.Quote(text), estimate.Max), fmt.Sprintf("at most %d units", maxWhenCost))
	}
	program, err := env.Program(ast, cel.CostLimit(maxWhenCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, engine.InvalidInput("when", engine.Quote(text)+", "+err.Error(), whenAccepted)
	}
	return &When{text: text, program: program}, nil
}

// firstIssue returns the compiler's first error as one line, with its column.
func firstIssue(issues *cel.Issues) string {
	first := issues.Errors()[0]
	message, _, _ := strings.Cut(first.Message, "\n")
	return fmt.Sprintf("column %d: %s", first.Location.Column()+1, message)
}

// estimator estimates the sizes of a request's parts.
type estimator struct{}

// EstimateSize returns the assumed maximum size of a string, or the assumed maximum number of fields of a map. For a
// value that is not part of a request it returns nil, which leaves the estimate to the library.
func (estimator) EstimateSize(element cost.AstNode) *cost.SizeEstimate {
	path := element.Path()
	if len(path) == 0 {
		return nil
	}
	if name := path[0]; len(path) == 1 && (name == varHeaders || name == varQuery) {
		return &cost.SizeEstimate{Max: assumedFields}
	}
	return &cost.SizeEstimate{Max: assumedText}
}

// EstimateCallCost leaves the cost of calls to the library's defaults.
func (estimator) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// String returns the condition as written.
func (w *When) String() string { return w.text }

// words returns the words in the text of a condition, among which are the names that it reads. The receiver can be nil.
func (w *When) words() []string {
	if w == nil {
		return nil
	}
	return strings.FieldsFunc(w.text, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || '9' < c) && (c < 'a' || 'z' < c) && (c < 'A' || 'Z' < c)
	})
}

// nameLike matches what can name a header or a query field: a text, or a selector.
var nameLike = regexp.MustCompile(`"([^"]*)"|'([^']*)'|request\.(?:query|headers)\.(\w+)`)

// named returns the texts in a condition and the names of its selectors. The receiver can be nil.
func (w *When) named() (names []string) {
	if w == nil {
		return nil
	}
	for _, match := range nameLike.FindAllStringSubmatch(w.text, -1) {
		names = append(names, match[1]+match[2]+match[3])
	}
	return names
}

// headerLike matches what names a header in a condition.
var headerLike = regexp.MustCompile(`request\.headers\s*\[\s*["']([^"']*)["']|["']([^"']*)["']\s+in\s+request\.headers\b|request\.headers\.(\w+)`)

// NoHeaders returns the names of headers in a condition that no request has there: those with capital letters, and host.
// The receiver can be nil.
func (w *When) NoHeaders() (names []string) {
	if w == nil {
		return nil
	}
	for _, match := range headerLike.FindAllStringSubmatch(w.text, -1) {
		if name := match[1] + match[2] + match[3]; (name == "host" || name != lowerASCII(name)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// comparedLike matches a comparison of a variable with a text.
var comparedLike = regexp.MustCompile(`(request\.(?:method|host|path))\s*[=!]=\s*["']([^"'\\]*)["']`)

// NoTexts returns the comparisons in a condition with texts that the variable never has, in another case or form, each as
// the variable, the text, and the text that it has instead. The receiver can be nil.
func (w *When) NoTexts() (compared [][3]string) {
	if w == nil {
		return nil
	}
	for _, match := range comparedLike.FindAllStringSubmatch(w.text, -1) {
		has := match[2]
		switch match[1] {
		case varMethod:
			has = upper(has)
		case varHost:
			has = normalHost(has)
		default:
			has = NormalPath(has)
		}
		if has != match[2] {
			compared = append(compared, [3]string{match[1], match[2], has})
		}
	}
	return compared
}

// largeLike matches a condition on large bodies, and unknownLike one on bodies of unknown size.
var (
	largeLike   = regexp.MustCompile(`request\.size\s*>=?\s*[1-9]|[0-9]\s*<=?\s*request\.size`)
	unknownLike = regexp.MustCompile(`request\.size\s*(?:<\s*0|<=\s*-1|==\s*-1)|(?:0\s*>|-1\s*>=|-1\s*==)\s*request\.size`)
)

// MissesUnknown reports whether a condition holds for large bodies, but for none of unknown size. The receiver can be nil.
func (w *When) MissesUnknown() bool {
	return w != nil && largeLike.MatchString(w.text) && !unknownLike.MatchString(w.text)
}

// Errors returns the number of evaluations that have failed, because a header was missing or the cost was too high. A
// failed condition counts as not met. If the cost was too high, the request is refused.
func (w *When) Errors() uint64 { return w.errors.Load() }

// holds evaluates the condition. If the server finds handlers in any case, it also holds for the path in lower case:
// otherwise /LOGIN would leave a condition on /login (regression: bug 233).
func (w *When) holds(v *view) bool {
	held := w.holdsOf(v, v.variables())
	if held || !v.AnyCase {
		return held
	}
	lower := lowerASCII(v.path)
	if lower == v.path {
		return false
	}
	variables := maps.Clone(v.variables())
	variables[varPath] = lower
	return w.holdsOf(v, variables)
}

func (w *When) holdsOf(v *view, variables map[string]any) bool {
	held, err := w.evaluate(variables)
	if err != nil {
		w.errors.Add(1)
		var ended interpreter.EvalCancelledError
		v.costly = v.costly || errors.As(err, &ended)
	}
	return held
}

func (w *When) evaluate(variables map[string]any) (bool, error) {
	result, _, err := w.program.Eval(variables)
	if err != nil {
		return false, err
	}
	held, _ := result.Value().(bool)
	return held, nil
}

// variables returns the variables for a request. Expensive ones are computed on demand.
func (v *view) variables() map[string]any {
	if v.values == nil {
		v.values = map[string]any{
			varMethod: v.method, varHost: v.host, varPath: v.path, varSize: v.Size,
			varQuery:   func() any { return v.firstFields() },
			varHeaders: func() any { return firsts(v.Header, true) },
			varClient:  func() any { return v.clientText() },
		}
	}
	return v.values
}

func (v *view) clientText() string {
	if address := v.clientAddress(); address.IsValid() {
		return address.String()
	}
	return ""
}

// firstFields returns the first value of each query field, also under the names by which less exact servers read it: the
// one of [fieldName], and that of a condition, such as pageSize of the field pagesize (regression: bug 260).
func (v *view) firstFields() map[string]string {
	fields := firsts(v.queryValues(), false)
	add := func(name string, values []string) {
		if _, there := fields[name]; !there && len(values) > 0 {
			fields[name] = values[0]
		}
	}
	for name, values := range v.merged() {
		add(name, values)
	}
	for _, name := range v.table.unusual {
		add(name, v.fields(name))
	}
	return fields
}

// firsts returns the first value of each header or query field.
func firsts(from map[string][]string, lower bool) map[string]string {
	fields := make(map[string]string, len(from))
	for name, values := range from {
		if lower {
			name = strings.ToLower(name)
		}
		if len(values) > 0 {
			fields[name] = values[0]
		}
	}
	return fields
}
