package yamlfile

import (
	"reflect"
	"slices"
	"sync"
)

// structFields are the fields of a struct, by their names in a file.
type structFields struct {
	index map[string][]int
	names []string // sorted
	first string   // the first declared name
}

var structs sync.Map // reflect.Type → *structFields

// fieldsOf returns the fields of a struct, including the fields of inlined structs and of tables.
func fieldsOf(t reflect.Type) *structFields {
	if known, ok := structs.Load(t); ok {
		return known.(*structFields)
	}
	s := &structFields{index: map[string][]int{}}
	s.add(t, nil)
	if len(s.names) > 0 {
		s.first = s.names[0]
	}
	slices.Sort(s.names)
	known, _ := structs.LoadOrStore(t, s)
	return known.(*structFields)
}

func (s *structFields) add(t reflect.Type, outer []int) {
	for i := range t.NumField() {
		field := t.Field(i)
		index := append(slices.Clip(outer), i)
		switch name := field.Tag.Get("yaml"); {
		case name == ",inline":
			s.add(field.Type, index)
		case name == ",table":
			for _, name := range reflect.New(field.Type).Interface().(Table).Names() {
				s.index[name] = index
				s.names = append(s.names, name)
			}
		case name != "":
			s.index[name] = index
			s.names = append(s.names, name)
		}
	}
}
