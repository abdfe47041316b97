package ddbstream

// Numbers returns the digits of the members of type N of an attribute of type M,
// by name; other members are left out. It is false for an absent attribute and one
// of another type.
func (i Image) Numbers(attr string) (map[string]string, bool) {
	kind, value := sole(i.value(attr))
	if kind == nil || !is(kind, "M") || value[0] != '{' {
		return nil, false
	}
	numbers := make(map[string]string)
	for w := walk(value); w.next(); {
		kind, digits := sole(w.value)
		if kind == nil {
			return nil, false
		}
		if is(kind, "N") && digits[0] == '"' {
			numbers[string(unquote(w.name))] = string(unquote(digits))
		}
	}
	return numbers, true
}
