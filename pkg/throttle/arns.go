package throttle

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// handle calls an operation's handler with table names in place of ARNs, since DynamoDB Local rejects ARNs in
// transactions. The response has the ARNs again. A call passes unchanged and uncharged if the engine has a table only
// under its ARN or not at all, or if a batch names one table twice. Another resource's ARN gets a ValidationException.
func (c *call) handle(handler func(*call) (*http.Response, error)) (*http.Response, error) {
	if !bytes.Contains(c.body, []byte("arn:")) {
		return handler(c)
	}
	n := renaming{call: c, arns: map[string]string{}}
	body, ok := renameTables(c.body, n.toName)
	switch {
	case n.malformed != nil:
		return c.respond(http.StatusBadRequest, map[string]any{"__type": "com.amazon.coral.validate#ValidationException", "message": n.malformed.Error()})
	case n.err != nil:
		return nil, n.err
	case !ok || n.foreign:
		return c.passThrough()
	case len(n.arns) == 0:
		return handler(c)
	}
	c.body = body
	c.req = c.req.Clone(c.req.Context())
	c.req.Header.Set("Accept-Encoding", "identity") // the response must not be compressed
	resp, err := handler(c)
	if err != nil {
		return nil, err
	}
	return n.restoreARNs(resp)
}

// renaming replaces the ARNs of tables in a request by names, and the names in its response by the ARNs.
type renaming struct {
	*call
	arns      map[string]string // the replaced ARNs, by table name
	foreign   bool              // the engine has an ARN's table under the ARN alone, or not at all
	malformed error             // not nil if an ARN is not a table's
	err       error             // not nil if the engine did not respond
}

// restoreARNs returns the response with ARNs in place of the names that toName returned for them.
func (n *renaming) restoreARNs(resp *http.Response) (*http.Response, error) {
	r, err := readReply(resp)
	if err != nil {
		return nil, err
	}
	if renamed, ok := renameTables(r.text, n.toARN); ok && !bytes.Equal(renamed, r.text) {
		r.resp.Header.Set("X-Amz-Crc32", checksum(renamed))
		r.text = renamed
	}
	setBody(r.resp, r.text)
	return r.resp, nil
}

// toName returns the name of an ARN's table if the engine has the table under that name. It returns other ARNs, and
// names, unchanged. It sets foreign, malformed or err if it can't replace an ARN.
func (n *renaming) toName(nameOrARN string) string {
	name, _, _, err := dynamo.TableName(nameOrARN)
	if err != nil {
		n.malformed = err
		return nameOrARN
	}
	if n.err != nil || name == nameOrARN {
		return nameOrARN
	}
	same, err := n.isNamed(nameOrARN, name)
	n.err = err
	if !same {
		n.foreign = true
		return nameOrARN
	}
	if n.arns[name] == "" {
		n.arns[name] = nameOrARN
	}
	return name
}

// toARN returns the ARN that toName replaced by a name, or the name if toName replaced none by it.
func (n *renaming) toARN(name string) string { return cmp.Or(n.arns[name], name) }

// isNamed reports whether the engine has the same table under an ARN and under a name. If the engine has the name and
// rejects the ARN as invalid, isNamed returns true: such an engine has tables by name only.
func (c *call) isNamed(arn, name string) (bool, error) {
	t, err := c.describe(name)
	if err != nil {
		return false, unlessInvalid(err)
	}
	c.l.mu.Lock()
	known := arn == t.ARN || t.arns[arn]
	c.l.mu.Unlock()
	if known {
		return true, nil
	}
	d, err := c.fetchDescription(arn)
	rejected, _ := errors.AsType[rejection](err)
	rejectsARNs := rejected.exception == "ValidationException"
	sameTable := err == nil && d.Table.TableArn == t.ARN
	if !rejectsARNs && !sameTable {
		return false, unlessInvalid(err)
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if len(t.arns) >= maxARNs {
		clear(t.arns)
	}
	t.arns[arn] = true
	return true, nil
}

// unlessInvalid returns an error unchanged, or nil for errInvalid.
func unlessInvalid(err error) error {
	if errors.Is(err, errInvalid) {
		return nil
	}
	return err
}

// renameTables returns a request or response in which newName has replaced each table's name or ARN. It returns the
// text unchanged, and false, if the text is no object or two tables of a map would have the same name.
func renameTables(text []byte, newName func(string) string) (renamed []byte, ok bool) {
	d, ok := newDocument(text)
	if !ok {
		return text, false
	}
	changed := object{}
	for _, m := range d.members {
		value := m.value
		switch string(m.name) {
		case "TableName":
			value = renameText(value, newName)
		case "Statement":
			value = renameText(value, func(statement string) string { return renameInStatement(statement, newName) })
		case "RequestItems", "Responses", "UnprocessedItems", "UnprocessedKeys", "ItemCollectionMetrics":
			if value, ok = renameMembers(value, newName); !ok {
				return text, false
			}
		case "TransactItems", "ConsumedCapacity", "Statements", "TransactStatements", "Put", "Update", "Delete", "ConditionCheck", "Get":
			value = renameEach(value, newName)
		}
		if !bytes.Equal(value, m.value) {
			changed[string(m.name)] = value
		}
	}
	return d.with(changed), true
}

// renameEach renames the tables in an object, or in each object of an array.
func renameEach(value jsontext.Value, newName func(string) string) jsontext.Value {
	if value.Kind() != '[' {
		renamed, _ := renameTables(value, newName)
		return renamed
	}
	var list []jsontext.Value
	if !decode(value, &list) {
		return value
	}
	for i := range list {
		list[i], _ = renameTables(list[i], newName)
	}
	return encode(list)
}

// renameMembers renames the members of an object. If two members would have the same name, it returns the object
// unchanged, and false. It returns a value that is no object unchanged, and true.
func renameMembers(value jsontext.Value, newName func(string) string) (renamed jsontext.Value, ok bool) {
	d, ok := newDocument(value)
	if !ok {
		return value, true
	}
	members := map[string]jsontext.Value{}
	for _, m := range d.members {
		name := newName(string(m.name))
		if _, twice := members[name]; twice {
			return value, false
		}
		members[name] = m.value
	}
	return encode(members), true
}

// renameText replaces a string by what newName returns for it. It returns other values unchanged.
func renameText(value jsontext.Value, newName func(string) string) jsontext.Value {
	var text string
	if !decode(value, &text) {
		return value
	}
	if renamed := newName(text); renamed != text {
		return encode(renamed)
	}
	return value
}

// quotedPart matches a string of a PartiQL statement, or a name in double quotes.
var quotedPart = regexp.MustCompile(`'(?:[^']|'')*'|"[^"]*"`)

// renameInStatement renames the tables of a PartiQL statement that are given by their ARNs.
func renameInStatement(statement string, newName func(string) string) string {
	return quotedPart.ReplaceAllStringFunc(statement, func(part string) string {
		name := strings.Trim(part, `"`)
		if _, _, _, err := dynamo.TableName(name); err != nil || part[0] != '"' {
			return part // a string, or another name such as an attribute's
		}
		return `"` + newName(name) + `"`
	})
}
