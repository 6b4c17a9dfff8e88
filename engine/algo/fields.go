package algo

// Fields is a set of the fields that a limit can have in addition to its rate, one bit each. A limit has the set of its
// fields that are not at their default ([Limit].Fields). A way of deciding that is faster than the steps has the set of
// the fields that it takes into account, and decides only the limits whose fields are all in it. So the steps decide
// limits with a new field until each faster way supports it.
type Fields uint64

// rateField is the bit of the rate, which every limit has. It distinguishes a limit with no other field from a limit
// whose set was not computed, and an algorithm that a way supports without fields from one that it does not support.
const rateField Fields = 1

var fieldBits = map[string]Fields{}

// FieldsOf returns the set of the rate and the named fields. It panics if no algorithm has one of them.
func FieldsOf(names ...string) Fields {
	set := rateField
	for _, name := range names {
		bit := fieldBits[name]
		if bit == 0 {
			panic("algo: no algorithm has the field " + name)
		}
		set |= bit
	}
	return set
}

// Within reports whether all fields of a limit are in the set known. It returns false if f is empty, because then the
// limit's fields were not computed.
func (f Fields) Within(known Fields) bool { return f != 0 && f&^known == 0 }

// nameFields gives each field of the algorithms in the table its bit.
func nameFields() {
	for a := range algorithms {
		for _, name := range algorithms[a].fields {
			if fieldBits[name] == 0 {
				fieldBits[name] = rateField << (len(fieldBits) + 1)
			}
		}
	}
	if len(fieldBits) > 62 {
		panic("algo: more fields than bits in Fields")
	}
}
