package policy

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/headgate/headgate/engine"
)

// numberFields are the names of the fields whose value is a whole number.
var numberFields = func() map[string]bool {
	numbers := map[string]bool{"limit": true, "cost": true}
	for _, field := range engine.Fields() {
		if field.Kind == engine.FieldUnits {
			numbers[field.Name] = true
		}
	}
	return numbers
}()

// checkNumbers rejects values of number fields that are no whole numbers. The YAML
// library would truncate 1.5 to 1, quoted or not.
func checkNumbers(name string, tree *ast.File) *Error {
	for _, doc := range tree.Docs {
		v := &numberVisitor{}
		ast.Walk(v, doc)
		if v.invalid != nil {
			e := &Error{File: name, Line: 1, Column: 1, Message: quote(v.invalid.Value) + " is not a whole number; accepted: digits alone, without quotes, point or exponent"}
			e.mark(v.invalid)
			return e
		}
	}
	return nil
}

type numberVisitor struct{ invalid *token.Token }

// Visit checks one field. It stops at the first invalid value.
func (v *numberVisitor) Visit(node ast.Node) ast.Visitor {
	if v.invalid != nil {
		return nil
	}
	field, ok := node.(*ast.MappingValueNode)
	if !ok {
		return v
	}
	key := field.Key.GetToken().Value
	if !numberFields[key] || field.GetPath() == "$.policies."+key {
		return v
	}
	switch field.Value.(type) {
	case *ast.StringNode, *ast.FloatNode, *ast.BoolNode, *ast.LiteralNode, *ast.InfinityNode, *ast.NanNode:
		v.invalid = field.Value.GetToken()
		return nil
	}
	return v
}
