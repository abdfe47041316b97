package throttle

import (
	"bytes"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// handle handles a call. The engine gets names of tables for ARNs, since DynamoDB Local rejects ARNs in transactions, and
// the caller gets the ARNs back. A call for another account's table, as far as the engine has any, passes uncharged, as does
// a batch by both the name and the ARN of a table.
func (c *call) handle(do func(*call) (*http.Response, error)) (*http.Response, error) {
	if !bytes.Contains(c.body, []byte("arn:")) {
		return do(c)
	}
	n := naming{call: c, arns: map[string]string{}}
	body, ok := n.rename(c.body, n.toName)
	switch {
	case n.malformed != nil:
		return c.errorResponse(map[string]any{"__type": "com.amazon.coral.validate#ValidationException", "message": n.malformed.Error()})
	case n.err != nil:
		return nil, n.err
	case !ok || n.foreign:
		return c.passThrough()
	case len(n.arns) == 0:
		return do(c)
	}
	c.body = body
	c.req = c.req.Clone(c.req.Context())
	c.req.Header.Set("Accept-Encoding", "identity") // the response must not be compressed
	resp, err := do(c)
	if err != nil {
		return nil, err
	}
	r, err := readReply(resp)
	if err != nil {
		return nil, err
	}
	if answered, ok := n.rename(r.text, n.toARN); ok && !bytes.Equal(answered, r.text) {
		r.resp.Header.Set("X-Amz-Crc32", checksum(answered))
		r.text = answered
	}
	setBody(r.resp, r.text)
	return r.resp, nil
}

// naming replaces the names of tables in a request and its response.
type naming struct {
	*call
	arns      map[string]string // that were replaced, by name
	foreign   bool              // the engine has no table by the name of an ARN, or another one
	malformed error             // an ARN is not a table's
	err       error             // the engine did not answer
}

// toName returns the name under which the engine knows the table of an ARN, or else the ARN. It returns names unchanged.
func (n *naming) toName(named string) string {
	name, _, _, err := dynamo.TableName(named)
	if err != nil {
		n.malformed = err
	}
	if err != nil || n.err != nil || name == named {
		return named
	}
	same, err := n.isNamed(named, name)
	n.err = err
	if !same {
		n.foreign = true
		return named
	}
	if n.arns[name] == "" {
		n.arns[name] = named
	}
	return name
}

func (n *naming) toARN(name string) string {
	if arn, ok := n.arns[name]; ok {
		return arn
	}
	return name
}

// isNamed reports whether the engine has the same table under an ARN and under a name. An engine that does not take ARNs
// has tables by name only.
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
	d, err := c.description(arn)
	rejection, rejected := errors.AsType[rejection](err)
	if rejected && rejection.exception != "ValidationException" || err != nil && !rejected || err == nil && d.Table.TableArn != t.ARN {
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

// unlessInvalid returns nil for errInvalid.
func unlessInvalid(err error) error {
	if errors.Is(err, errInvalid) {
		return nil
	}
	return err
}

// rename returns the text of a request or response with other names of tables. ok is false if two tables of a map would
// have one name.
func (n *naming) rename(text []byte, to func(string) string) (renamed []byte, ok bool) {
	d, ok := newDocument(text)
	if !ok {
		return text, false
	}
	changed := object{}
	for _, m := range d.members {
		value := m.value
		switch string(m.name) {
		case "TableName":
			value = renameText(value, to)
		case "Statement":
			value = renameText(value, func(statement string) string { return renameInStatement(statement, to) })
		case "RequestItems", "Responses", "UnprocessedItems", "UnprocessedKeys", "ItemCollectionMetrics":
			if value, ok = renameMembers(value, to); !ok {
				return text, false
			}
		case "TransactItems", "ConsumedCapacity", "Statements", "TransactStatements", "Put", "Update", "Delete", "ConditionCheck", "Get":
			value = n.renameEach(value, to)
		}
		if !bytes.Equal(value, m.value) {
			changed[string(m.name)] = value
		}
	}
	return d.with(changed), true
}

// renameEach renames tables in an object, or in each object of an array.
func (n *naming) renameEach(value jsontext.Value, to func(string) string) jsontext.Value {
	if value.Kind() != '[' {
		renamed, _ := n.rename(value, to)
		return renamed
	}
	var list []jsontext.Value
	if !decode(value, &list) {
		return value
	}
	for i := range list {
		list[i], _ = n.rename(list[i], to)
	}
	return encode(list)
}

// renameMembers renames the members of an object. ok is false if two would have one name. Other values stay.
func renameMembers(value jsontext.Value, to func(string) string) (renamed jsontext.Value, ok bool) {
	d, ok := newDocument(value)
	if !ok {
		return value, true
	}
	all := map[string]jsontext.Value{}
	for _, m := range d.members {
		name := to(string(m.name))
		if _, twice := all[name]; twice {
			return value, false
		}
		all[name] = m.value
	}
	return encode(all), true
}

func renameText(value jsontext.Value, to func(string) string) jsontext.Value {
	var text string
	if !decode(value, &text) {
		return value
	}
	if renamed := to(text); renamed != text {
		return encode(renamed)
	}
	return value
}

// quotedPart matches a string of a PartiQL statement, or a name in double quotes.
var quotedPart = regexp.MustCompile(`'(?:[^']|'')*'|"[^"]*"`)

// renameInStatement renames the tables of a PartiQL statement that are given by their ARNs.
func renameInStatement(statement string, to func(string) string) string {
	return quotedPart.ReplaceAllStringFunc(statement, func(part string) string {
		name := strings.Trim(part, `"`)
		if _, _, _, err := dynamo.TableName(name); err != nil || part[0] != '"' {
			return part // such as an attribute's
		}
		return `"` + to(name) + `"`
	})
}
