package headgate_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// methodTypes are the exported types with methods, by package directory. TestNilAndZeroValues checks that none is
// missing.
var methodTypes = map[string][]reflect.Type{
	".": {
		reflect.TypeFor[headgate.Limiter](), reflect.TypeFor[headgate.Policy](), reflect.TypeFor[headgate.Semaphore](),
		reflect.TypeFor[headgate.Permit](), reflect.TypeFor[headgate.Reservation](), reflect.TypeFor[headgate.Decision](),
		reflect.TypeFor[headgate.DeniedError](), reflect.TypeFor[headgate.Rate](),
		reflect.TypeFor[headgate.Variant](),
	},
	"httplimit": {
		reflect.TypeFor[httplimit.Middleware](), reflect.TypeFor[httplimit.NoKeyError](), reflect.TypeFor[httplimit.Problem](),
		reflect.TypeFor[httplimit.Proxies](), reflect.TypeFor[httplimit.Style](),
	},
}

// No method of a nil pointer or of a zero value panics, whether its context is nil or not. A method that could charge or
// decide returns an error. The methods without an effect on a value that holds nothing return none (regression: bug 114).
func TestNilAndZeroValues(t *testing.T) {
	silent := []string{"Reservation.Cancel", "Permit.Release"}
	for dir, types := range methodTypes {
		declared := typesWithMethods(t, dir)
		for _, typ := range types {
			declared = slices.DeleteFunc(declared, func(name string) bool { return name == typ.Name() })
			pointer := reflect.PointerTo(typ)
			for method := range pointer.Methods() {
				values := []reflect.Value{reflect.New(typ)}
				if _, ofValue := typ.MethodByName(method.Name); !ofValue {
					values = append(values, reflect.Zero(pointer))
				}
				name := typ.Name() + "." + method.Name
				for _, value := range values {
					for _, ctx := range []context.Context{nil, t.Context()} {
						err, decides := call(t, name, value.MethodByName(method.Name), ctx)
						if decides && err == nil != slices.Contains(silent, name) {
							t.Errorf("%s of %v: %v", name, value, err)
						}
					}
				}
			}
		}
		if len(declared) > 0 {
			t.Errorf("in %s, the methods of %v are not called", dir, declared)
		}
	}
}

// A nil context is an error in every method that has one, and nothing is charged.
func TestNilContext(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	for name, limit := range map[string]headgate.Limit{
		"fast": headgate.TokenBucket{Rate: headgate.PerHour(100)}, "log": headgate.SlidingLog{Rate: headgate.PerHour(100)},
		"pacer": headgate.Pacer{Rate: headgate.PerHour(100), MaxQueue: 100},
	} {
		policy, permits := l.Policy(name, limit).SettleWithin(time.Hour, headgate.KeepCharge), l.Semaphore(name, headgate.Concurrency{Units: 9})
		reservation, d, err := policy.Reserve(t.Context(), "held", 1)
		if err = errors.Join(err, d.Err()); err != nil {
			t.Fatal(err)
		}
		permit, _, err := permits.TryAcquire(t.Context(), "held", 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []any{l, policy, permits, permit, reservation} {
			v := reflect.ValueOf(value)
			for method := range v.Type().Methods() {
				if name := v.Type().String() + "." + method.Name; takesContext(method.Type) {
					if err, decides := call(t, name, v.MethodByName(method.Name), nil); decides && err == nil {
						t.Errorf("%s: no error", name)
					}
				}
			}
		}
	}
}

// A program that passes on a nil answer or request gets no decision, and no panic.
func TestNilAnswerAndRequest(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	if d := headgate.DecisionOf(nil, nil); d.Allowed || !errors.Is(d.Err(), headgate.ErrInvalid) {
		t.Error(d)
	}
	p := l.Policy("p", headgate.SlidingLog{Rate: headgate.PerHour(9)})
	s := l.Semaphore("s", headgate.Concurrency{Units: 9})
	_, one := httplimit.NewMiddleware(p, httplimit.ByIP()).Decide(nil)
	_, all := httplimit.AllOf(l, httplimit.Item{Policy: p, Key: httplimit.ByHeader("X-User")}).AllowRequest(nil)
	_, held := httplimit.InFlight(s, httplimit.ByQuery("user")).AllowRequest(nil)
	for _, err := range []error{one, all, held} {
		if !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), "request is nil; accepted: ") {
			t.Error(err)
		}
	}
	_, err := httplimit.NewMiddleware(p, httplimit.ByQuery("user")).Decide(&http.Request{})
	if _, ok := errors.AsType[*httplimit.NoKeyError](err); !ok {
		t.Error(err)
	}
}

// call calls a method with values for its parameters. It returns the method's error, and whether it can return one.
func call(t *testing.T, name string, method reflect.Value, ctx context.Context) (err error, decides bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
			err, decides = fmt.Errorf("%v", p), true
		}
	}()
	typ := method.Type()
	arguments := make([]reflect.Value, typ.NumIn())
	for i := range arguments {
		arguments[i] = argument(typ.In(i), ctx)
	}
	var results []reflect.Value
	if typ.IsVariadic() {
		results = method.CallSlice(arguments)
	} else {
		results = method.Call(arguments)
	}
	for _, r := range results {
		switch v := r.Interface().(type) {
		case []headgate.Result:
			err, decides = v[0].Err, true
		case error:
			err, decides = v, true
		case nil:
			decides = decides || r.Type() == reflect.TypeFor[error]()
		}
	}
	return err, decides
}

// argument returns a value that is valid for a parameter, except that the context is ctx.
func argument(of reflect.Type, ctx context.Context) reflect.Value {
	v := reflect.New(of).Elem()
	switch p := v.Addr().Interface().(type) {
	case *context.Context:
		*p = ctx
	case *string:
		*p = "k"
	case *int64:
		*p = 1
	case *[]int64:
		*p = []int64{1}
	case *[]headgate.Charge:
		*p = []headgate.Charge{{Key: "k"}}
	case *map[string]int64:
		*p = map[string]int64{"k": 1}
	case *http.ResponseWriter:
		*p = httptest.NewRecorder()
	case **http.Request:
		*p = httptest.NewRequest(http.MethodGet, "/", nil)
	case *http.Handler:
		*p = http.NotFoundHandler()
	case *netip.Addr:
		*p = netip.MustParseAddr("192.0.2.1")
	case *http.Header:
		*p = http.Header{}
	}
	return v
}

func takesContext(method reflect.Type) bool {
	return method.NumIn() > 1 && method.In(1) == reflect.TypeFor[context.Context]()
}

// typesWithMethods returns the names of the exported types of a package that have exported methods. The types of limits
// have only an unexported one.
func typesWithMethods(t *testing.T, dir string) (names []string) {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), dir, nil, 0) //nolint:staticcheck // build tags do not matter here
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range packages {
		if strings.HasSuffix(name, "_test") {
			continue
		}
		for _, file := range p.Files {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv == nil || !f.Name.IsExported() {
					continue
				}
				of := f.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if id, ok := of.(*ast.Ident); ok && id.IsExported() && !slices.Contains(names, id.Name) {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// An invalid option is an error of Err and of every method, never a panic.
func TestInvalidOptions(t *testing.T) {
	for name, option := range map[string]headgate.Option{
		"store of no New": headgate.WithStore(&memstore.Store{}), "store of no New on Redis": headgate.WithStore(wrapper{&redisstore.Store{}}), // regression: bug 205
		"nil option": nil, "nil observer": headgate.WithObserver(nil), "nil store": headgate.WithStore(nil),
		"wrapper of nothing": headgate.WithStore(wrapper{}), "wrapper of a failed store": headgate.WithStore(wrapper{failed{}}),
		"space": headgate.WithSpace(strings.Repeat("s", engine.MaxKeyBytes+1)),
	} {
		l := headgate.New(headgate.WithSpace("s"), option)
		p := l.Policy("p", headgate.SlidingLog{Rate: headgate.PerHour(9)})
		_, allow := p.Allow(t.Context(), "k")
		_, wait := p.Wait(t.Context(), "k")
		_, acquire := l.Semaphore("s", headgate.Concurrency{Units: 1}).Acquire(t.Context(), "k", 1)
		for verb, err := range map[string]error{"Err": p.Err(), "Allow": allow, "Wait": wait, "Acquire": acquire, "Close": l.Close()} {
			if !errors.Is(err, headgate.ErrInvalid) {
				t.Errorf("%s: %s returns %v", name, verb, err)
			}
		}
	}
}

// A store on a connection that is not there is not made (regression: bug 205).
func TestNilConnection(t *testing.T) {
	if store, err := redisstore.New(nil, redisstore.Config{}); store != nil || !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("%v, %v", store, err)
	}
}

// wrapper is a layer around a store that may be nil, as in an open.Opened that failed.
type wrapper struct{ engine.Store }

func (w wrapper) Unwrap() engine.Store { return w.Store }

// failed is a store that was not opened.
type failed struct{ engine.Store }

func (failed) Err() error { return errors.New("connection refused") }
