// Package partiql reads from PartiQL statements what their cost depends on: the table, the key, and the item
// of an INSERT. It checks no statement: the engine does. It does no input or output.
package partiql

import (
	"maps"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Kind is the kind of a statement.
type Kind string

// The kinds. An Exists is the condition check of a transaction: EXISTS(SELECT ...).
const (
	Select Kind = "SELECT"
	Insert Kind = "INSERT"
	Update Kind = "UPDATE"
	Delete Kind = "DELETE"
	Exists Kind = "EXISTS"
)

// Statement is what [Parse] reads of a statement.
type Statement struct {
	Kind  Kind
	Table string
	Index string      // of a SELECT; may be empty
	Equal dynamo.Item // an INSERT's item; otherwise the values that WHERE requires of attributes by "="
	Whole bool        // a SELECT of all attributes
}

// maxBytes exceeds DynamoDB's limit of 8,192 characters. It bounds the depth of a statement.
const maxBytes = 4 * 8192

// Parse reads a statement with its parameters. It returns false for a statement without a kind or a table, or
// one that is too long. Equal lacks what Parse can't read.
func Parse(statement string, parameters []types.AttributeValue) (Statement, bool) {
	if len(statement) > maxBytes {
		return Statement{}, false
	}
	p := &parser{parameters: parameters}
	for _, text := range tokens.FindAllString(statement, -1) {
		if !blank.MatchString(text) {
			p.rest = append(p.rest, text)
		}
	}
	s := p.statement()
	return s, s.Kind != "" && s.Table != ""
}

// tokens are texts, names, numbers, words, operators, comments, and all other characters. Blank ones are skipped.
var (
	tokens = regexp.MustCompile(`(?s)'(?:[^']|'')*'|"(?:[^"]|"")*"|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[\pL_][\pL\d_]*|` +
		`<<|>>|<=|>=|<>|!=|--[^\n]*|/\*.*?\*/|\s+|.`)
	blank = regexp.MustCompile(`^(?:\s|--|/\*)`)
)

// parser has the tokens and the parameters that were not read yet.
type parser struct {
	rest       []string
	parameters []types.AttributeValue
}

// nextToken returns the next token; it is "" at the end.
func (p *parser) nextToken() string {
	if len(p.rest) == 0 {
		return ""
	}
	token := p.rest[0]
	p.rest = p.rest[1:]
	return token
}

// accept skips the next token if it is this word or operator.
func (p *parser) accept(word string) bool {
	ok := len(p.rest) > 0 && strings.EqualFold(p.rest[0], word)
	if ok {
		p.nextToken()
	}
	return ok
}

func (p *parser) statement() (s Statement) {
	switch {
	case p.accept("INSERT") && p.accept("INTO"):
		s = Statement{Kind: Insert, Table: p.name()}
		if p.accept("VALUE") {
			if item, ok := p.value().(*types.AttributeValueMemberM); ok {
				s.Equal = item.Value
			}
		}
		return s
	case p.accept("UPDATE") || p.accept("FROM"): // FROM "t" WHERE ... SET ... is an UPDATE, too
		s = Statement{Kind: Update, Table: p.name()}
	case p.accept("DELETE") && p.accept("FROM"):
		s = Statement{Kind: Delete, Table: p.name()}
	case p.accept("EXISTS") && p.accept("(") && p.accept("SELECT"):
		s = p.selects(Exists)
	case p.accept("SELECT"):
		s = p.selects(Select)
	}
	p.skipTo("WHERE")
	s.Equal = p.conjuncts()
	return s
}

// selects reads a SELECT up to its table or index.
func (p *parser) selects(kind Kind) Statement {
	s := Statement{Kind: kind, Whole: p.accept("*")}
	p.skipTo("FROM")
	s.Table = p.name()
	if p.accept(".") {
		s.Index = p.name()
	}
	return s
}

// skipTo skips tokens up to a word, and counts their parameters.
func (p *parser) skipTo(word string) {
	for len(p.rest) > 0 && !p.accept(word) {
		if p.nextToken() == "?" {
			p.parameter()
		}
	}
}

// name returns a name in double quotes or none; it is "" if there is another token.
func (p *parser) name() string {
	token := p.nextToken()
	if unquoted, ok := unquote(token, `"`); ok {
		return unquoted
	}
	if isWord(token) {
		return token
	}
	return ""
}

// unquote returns a token without its quotes.
func unquote(token, quote string) (string, bool) {
	if len(token) < 2 || !strings.HasPrefix(token, quote) {
		return "", false
	}
	return strings.ReplaceAll(token[1:len(token)-1], quote+quote, quote), true
}

var word = regexp.MustCompile(`^[\pL_]`)

func isWord(token string) bool { return word.MatchString(token) }

// conjuncts returns the values that a condition requires by "=". A condition with OR requires none.
func (p *parser) conjuncts() dynamo.Item {
	equal := dynamo.Item{}
	for {
		if p.accept("(") {
			maps.Copy(equal, p.conjuncts())
		} else if name, v := p.equality(); v != nil && p.ends() {
			equal[name] = v
		}
		for !p.ends() { // of another condition
			switch p.nextToken() {
			case "?":
				p.parameter()
			case "(":
				p.conjuncts()
			}
		}
		switch {
		case p.accept("AND"):
		case p.accept("OR"):
			p.conjuncts()
			return nil
		default:
			p.accept(")")
			return equal
		}
	}
}

// ends reports whether a condition ends here.
func (p *parser) ends() bool {
	if len(p.rest) == 0 {
		return true
	}
	switch strings.ToUpper(p.rest[0]) {
	case "AND", "OR", ")", "ORDER", "RETURNING", "SET", "REMOVE":
		return true
	}
	return false
}

// equality reads a comparison of an attribute with a value, in either order. The value is nil for another
// condition, which is read in part.
func (p *parser) equality() (string, types.AttributeValue) {
	if v := p.value(); v != nil {
		if p.accept("=") && !p.ends() {
			return p.name(), v
		}
		return "", nil
	}
	if p.ends() {
		return "", nil
	}
	if name := p.name(); name != "" && p.accept("=") {
		return name, p.value()
	}
	return "", nil
}

// parameter returns the value of the next "?", or nil if there are too few.
func (p *parser) parameter() types.AttributeValue {
	if len(p.parameters) == 0 {
		return nil
	}
	v := p.parameters[0]
	p.parameters = p.parameters[1:]
	return v
}
