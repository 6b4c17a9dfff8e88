package respapi

import (
	"errors"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/verbs"
)

// Commands returns all decision commands: those for CL.THROTTLE and its keys, and one for each form of each verb.
func Commands() []resp.DecisionCommand {
	commands := append(append(keyCommands(), throttle()), scripts()...)
	for i := range verbs.All {
		v := &verbs.All[i]
		for j := range v.Forms {
			commands = append(commands, newParser(v, &v.Forms[j]).command())
		}
	}
	return commands
}

// parser parses the command of one form of a verb.
type parser struct {
	verb *verbs.Verb
	form *verbs.Form
	// arguments are the fields in the order of their words, and clauses those that follow, each after its own word.
	arguments, clauses []verbs.Field
	// least and most bound the number of words without the clauses. The command's name is one of them.
	least, most int
}

func newParser(v *verbs.Verb, form *verbs.Form) *parser {
	p := &parser{verb: v, form: form, least: 1, most: 1}
	for f := range (form.Fields() &^ form.HTTP).Each() {
		switch row := &verbs.Rows[f]; {
		case row.Clause != "":
			p.clauses = append(p.clauses, f)
		case row.Argument != "":
			p.arguments = append(p.arguments, f)
			if form.Needs.Has(f) {
				p.least += len(strings.Fields(row.Argument))
			}
			p.most += len(strings.Fields(row.Argument)) * max(1, row.Repeats)
		}
	}
	return p
}

// spec describes the command.
func (p *parser) spec() resp.Spec {
	s := resp.Spec{Name: p.form.Command, Arity: p.least, Flags: []string{"write", "fast"}}
	if p.most > p.least || len(p.clauses) > 0 {
		s.Arity = -p.least
	}
	switch fields := p.form.Needs; {
	case fields.Has(verbs.Charges):
		s.FirstKey, s.LastKey, s.KeyStep = 2, -2, 3
	case fields.Has(verbs.Key):
		s.FirstKey, s.LastKey, s.KeyStep = 2, 2, 1
	}
	return s
}

func (p *parser) command() resp.DecisionCommand {
	reply, list := replies[p.verb.Answer], p.form.Needs.Has(verbs.Charges)
	return resp.DecisionCommand{
		Spec:  p.spec(),
		Parse: p.parse,
		Reply: func(dst []byte, proto wire.Proto, answers []decide.Response) []byte {
			if err := answers[0].Err; err != nil {
				return appendError(dst, ofUnits(err))
			}
			return reply(dst, proto, &answers[0], list)
		},
	}
}

// parse appends the request of a command.
func (p *parser) parse(dst []decide.Request, words [][]byte) ([]decide.Request, error) {
	dst = append(dst, decide.Request{})
	r := &dst[len(dst)-1]
	p.verb.Begin(r)
	words, err := p.cutClauses(r, words)
	switch {
	case err != nil:
		return dst, err
	case p.form.Needs.Has(verbs.Charges):
		return dst, p.charges(r, words)
	case len(words) > p.most:
		return dst, errArity(p.form.Command)
	}
	for i, f := range p.arguments {
		switch at := i + 1; {
		case at == len(words):
			return dst, nil
		case f == verbs.Actual:
			return dst, setActual(r, words[at:])
		default:
			if err := set(r, &r.Item, f, words[at]); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

// cutClauses removes the clauses from the end of a command, and sets their fields. In a list of charges, a word in the
// place of a key is a key.
func (p *parser) cutClauses(r *decide.Request, words [][]byte) (rest [][]byte, err error) {
	for _, f := range slices.Backward(p.clauses) {
		row := &verbs.Rows[f]
		at := len(words) - 1 - clauseWords[f]
		isKey := p.form.Needs.Has(verbs.Charges) && at%3 == 2
		if at < p.least || isKey || !strings.EqualFold(text(words[at]), row.Clause) {
			continue
		}
		switch f {
		case verbs.Atomic:
			r.Atomic = true
		case verbs.Outcomes:
			r.Outcomes, err = parseOutcomes(words[at+1:])
		default:
			err = set(r, &r.Item, f, words[at+1])
		}
		if err != nil {
			return nil, err
		}
		words = words[:at]
	}
	return words, nil
}

// clauseWords is the number of words that follow the word of a clause.
var clauseWords = func() (n [verbs.Count]int) {
	for f := range verbs.Rows {
		n[f] = len(strings.Fields(verbs.Rows[f].Argument))
	}
	return n
}()

func set(r *decide.Request, item *decide.Item, f verbs.Field, word []byte) error {
	row := &verbs.Rows[f]
	if row.Number != nil {
		n, err := parseInt(row.Argument, word, row.Least, row.Most)
		if err == nil {
			row.Number(r, item, n)
		}
		return err
	}
	if n := int64(len(word)); n < row.Least || n > row.Most {
		return errors.New(row.Argument + " must be " + row.Accepted)
	}
	value := text(word)
	if f != verbs.Key { // only keys are not retained
		value = strings.Clone(value)
	}
	row.Text(r, item, value)
	return nil
}

// errCharges is the error for a command with too many charges.
var errCharges = errors.New("charges must be 1 to 32, each a policy, a key and units")

// ownUnits in place of a number of units means the policy's own cost.
const ownUnits = "*"

// charges sets a request's list of charges.
func (p *parser) charges(r *decide.Request, words [][]byte) error {
	switch {
	case len(words)%3 != 1:
		return errArity(p.form.Command)
	case len(words) > p.most:
		return errCharges
	}
	r.Items = make([]decide.Item, len(words)/3)
	for i := range r.Items {
		item, of := &r.Items[i], words[1+3*i:]
		err := set(r, item, verbs.Policy, of[0])
		if err == nil {
			err = set(r, item, verbs.Key, of[1])
		}
		if err == nil && string(of[2]) != ownUnits {
			err = set(r, item, verbs.Cost, of[2])
		}
		if err != nil {
			return service.OfCharge(i, &service.Error{Err: err})
		}
	}
	return nil
}

// setActual sets the units that a reservation used: one number for all charges, or several with one for each.
func setActual(r *decide.Request, words [][]byte) (err error) {
	used := make([]int64, len(words))
	for i, word := range words {
		if used[i], err = parseInt("actual", word, 0, maxQuantity); err != nil && len(words) > 1 {
			return service.OfCharge(i, &service.Error{Err: err})
		} else if err != nil {
			return err
		}
	}
	verbs.Use(r, used, len(used) > 1)
	return nil
}

func parseOutcomes(words [][]byte) (*algo.Report, error) {
	var numbers [3]int64
	for i, field := range algo.ReportFields {
		n, err := parseInt(field.Name, words[i], 0, field.Most)
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	return algo.ReportOf(numbers), nil
}
