package ddbstream

// Numbers returns the digits of the members of type N of an attribute of type M,
// by name; other members are left out. It is false for an absent attribute and one
// of another type.
func (i Image) Numbers(attr string) (map[string]string, bool) {
	raw := i.find(attr)
	if raw == nil {
		return nil, false
	}
	r := open(raw)
	defer r.close()
	var numbers map[string]string
	err := r.typed(func(name []byte) error {
		if string(name) != "M" {
			_, err := r.value()
			return err
		}
		numbers = make(map[string]string)
		return r.members(func(name []byte) error {
			member := string(name)
			return r.typed(func(kind []byte) error {
				number := string(kind) == "N"
				raw, err := r.value()
				if err == nil && number && kindOf(raw) == '"' {
					numbers[member] = string(unquote(raw))
				}
				return err
			})
		})
	})
	return numbers, numbers != nil && err == nil
}
