package partiql

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// value reads a literal or a parameter. It returns nil, and reads nothing, if there is none; a collection is
// read up to what it can't read.
func (p *parser) value() types.AttributeValue {
	if len(p.rest) == 0 {
		return nil
	}
	token := p.rest[0]
	if text, ok := unquote(token, "'"); ok {
		p.nextToken()
		return dynamo.String(text)
	}
	switch strings.ToUpper(token) {
	case "?":
		p.nextToken()
		return p.parameter()
	case "TRUE", "FALSE":
		p.nextToken()
		return &types.AttributeValueMemberBOOL{Value: strings.EqualFold(token, "true")}
	case "NULL":
		p.nextToken()
		return &types.AttributeValueMemberNULL{Value: true}
	case "[":
		p.nextToken()
		return &types.AttributeValueMemberL{Value: p.list("]")}
	case "<<":
		p.nextToken()
		return setOf(p.list(">>"))
	case "{":
		p.nextToken()
		return p.tuple()
	}
	return p.number()
}

var startsNumber = regexp.MustCompile(`^\.?\d`)

// number reads a number, perhaps with a sign.
func (p *parser) number() types.AttributeValue {
	sign, digits := "", p.rest[0]
	if (digits == "-" || digits == "+") && len(p.rest) > 1 {
		sign, digits = strings.TrimPrefix(digits, "+"), p.rest[1]
	}
	if !startsNumber.MatchString(digits) {
		return nil
	}
	if p.nextToken() != digits {
		p.nextToken()
	}
	return dynamo.Decimal(sign + digits)
}

// list reads the values up to an end.
func (p *parser) list(end string) []types.AttributeValue {
	values := []types.AttributeValue{}
	for !p.accept(end) {
		v := p.value()
		if v == nil {
			return values
		}
		values = append(values, v)
		p.accept(",")
	}
	return values
}

// setOf returns a set of the values' type. A value of another type makes it nil.
func setOf(values []types.AttributeValue) types.AttributeValue {
	var texts, numbers []string
	var binaries [][]byte
	for _, v := range values {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			texts = append(texts, v.Value)
		case *types.AttributeValueMemberN:
			numbers = append(numbers, v.Value)
		case *types.AttributeValueMemberB:
			binaries = append(binaries, v.Value)
		}
	}
	switch len(values) {
	case len(texts):
		return &types.AttributeValueMemberSS{Value: texts}
	case len(numbers):
		return &types.AttributeValueMemberNS{Value: numbers}
	case len(binaries):
		return &types.AttributeValueMemberBS{Value: binaries}
	}
	return nil
}

// tuple reads attributes up to the closing brace.
func (p *parser) tuple() types.AttributeValue {
	item := dynamo.Item{}
	for !p.accept("}") {
		name, ok := unquote(p.nextToken(), "'")
		if !ok || !p.accept(":") {
			break
		}
		v := p.value()
		if v == nil {
			break
		}
		item[name] = v
		p.accept(",")
	}
	return &types.AttributeValueMemberM{Value: item}
}
