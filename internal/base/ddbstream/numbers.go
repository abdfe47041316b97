package ddbstream

// Numbers returns the digits of all members of type N of an attribute of type M, by name. ok is
// false if the attribute is absent or has another type.
func (i Image) Numbers(attr string) (map[string]string, bool) {
	kind, value := soleMember(i.value(attr))
	if kind == nil || !equalsQuoted(kind, "M") || value[0] != '{' {
		return nil, false
	}
	numbers := make(map[string]string)
	for w := walk(value); w.next(); {
		kind, digits := soleMember(w.value)
		if kind == nil {
			return nil, false
		}
		if equalsQuoted(kind, "N") && digits[0] == '"' {
			numbers[string(unquote(w.name))] = string(unquote(digits))
		}
	}
	return numbers, true
}
