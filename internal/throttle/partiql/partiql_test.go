package partiql

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

var (
	text   = dynamo.String
	number = dynamo.Decimal

	// ignoreUnexported makes cmp ignore unexported fields of the SDK's types.
	ignoreUnexported = cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberL{}, types.AttributeValueMemberM{},
		types.AttributeValueMemberSS{}, types.AttributeValueMemberNS{}, types.AttributeValueMemberBS{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberNULL{}, types.AttributeValueMemberB{})
)

// TestParse checks the kind, table, index and required values of statements, and whether they select all attributes.
func TestParse(t *testing.T) {
	a, b := text("A"), number("7")
	pk, both := dynamo.Item{"pk": a}, dynamo.Item{"pk": a, "sk": b}
	tests := []struct {
		statement string
		want      Statement
	}{
		{`SELECT * FROM "t" WHERE pk = 'A'`, Statement{Select, "t", "", pk, true}},
		{`select x, y.z from t where pk='A' and sk=7`, Statement{Select, "t", "", both, false}},
		{`SELECT * FROM "my-table"."by.x" WHERE "pk" = ? AND sk = ?`, Statement{Select, "my-table", "by.x", both, true}},
		{`SELECT * FROM t`, Statement{Select, "t", "", dynamo.Item{}, true}},
		{`SELECT * FROM t WHERE ? = pk AND begins_with(x, 'pk = 1') ORDER BY sk DESC`, Statement{Select, "t", "", pk, true}},
		{`SELECT * FROM t WHERE x BETWEEN ? AND 5 AND sk = ?`, Statement{Select, "t", "", dynamo.Item{"sk": b}, true}},
		{`SELECT * FROM t WHERE (pk = 'A') AND ((sk = 7))`, Statement{Select, "t", "", both, true}},
		{`SELECT * FROM t WHERE pk = 'A' AND (sk = 7 OR sk = 8)`, Statement{Select, "t", "", pk, true}},
		{`SELECT * FROM t WHERE pk = 'A' OR sk = 7`, Statement{Select, "t", "", nil, true}},
		{`SELECT * FROM t WHERE NOT (pk = 'A') AND NOT sk = 7`, Statement{Select, "t", "", dynamo.Item{}, true}},
		{`SELECT * FROM t WHERE pk IN ['A', 'B'] AND pk.x = 3 AND size(sk) = 7 AND pk <> 'A'`, Statement{Select, "t", "", dynamo.Item{}, true}},
		{`SELECT * FROM t WHERE pk = 'it''s' AND sk = -1.5e3`, Statement{Select, "t", "", dynamo.Item{"pk": text("it's"), "sk": number("-1.5e3")}, true}},
		{"-- x = ?\nSELECT /* a\nb */ * FROM t--\nWHERE pk = 'A' -- ?", Statement{Select, "t", "", pk, true}},
		{`SELECT * FROM t WHERE pk = -.5e1 AND sk = + 7`, Statement{Select, "t", "", dynamo.Item{"pk": number("-.5e1"), "sk": b}, true}},
		{`FROM "t" WHERE pk = ? AND sk = ? SET a = 1 REMOVE b`, Statement{Update, "t", "", both, false}},
		{`UPDATE "t" SET a = ?, b = b + 1 REMOVE c WHERE sk = ? AND pk = 'A' RETURNING ALL OLD *`, Statement{Update, "t", "", both, false}},
		{`DELETE FROM t WHERE pk = ? AND sk = ? AND x IS MISSING`, Statement{Delete, "t", "", both, false}},
		{`EXISTS(SELECT * FROM t WHERE pk = ? AND x = TRUE)`, Statement{Exists, "t", "", dynamo.Item{"pk": a, "x": &types.AttributeValueMemberBOOL{Value: true}}, true}},
		{`INSERT INTO "t" VALUE {'pk' : ?, 'sk':?}`, Statement{Insert, "t", "", both, false}},
		{`INSERT INTO t value {'pk':'A','l':[1,'x',[]],'m':{'k':NULL},'ss':<<'a','b'>>,'ns':<<1,-2>>,'sk':7}`, Statement{Insert, "t", "", dynamo.Item{
			"pk": a, "sk": b,
			"l":  &types.AttributeValueMemberL{Value: []types.AttributeValue{number("1"), text("x"), &types.AttributeValueMemberL{Value: []types.AttributeValue{}}}},
			"m":  &types.AttributeValueMemberM{Value: dynamo.Item{"k": &types.AttributeValueMemberNULL{Value: true}}},
			"ss": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
			"ns": &types.AttributeValueMemberNS{Value: []string{"1", "-2"}},
		}, false}},
	}
	for _, test := range tests {
		got, ok := Parse(test.statement, []types.AttributeValue{a, b})
		if diff := cmp.Diff(test.want, got, ignoreUnexported); !ok || diff != "" {
			t.Errorf("%s: parsed %t (-want +got):\n%s", test.statement, ok, diff)
		}
	}
}

// TestParseAnything checks that no statement makes Parse panic or recurse without end, and that invalid ones are not parsed.
func TestParseAnything(t *testing.T) {
	for _, statement := range []string{"", "x", "SELECT", "SELECT * FROM", "INSERT t", `UPDATE 'x' SET`, strings.Repeat("(", 1<<20), "SELECT * FROM t WHERE " + strings.Repeat("(", 1<<20)} {
		if s, ok := Parse(statement, nil); ok {
			t.Errorf("%.30q is parsed as %+v", statement, s)
		}
	}
	words := `(SELECT|INSERT|INTO|VALUE|UPDATE|DELETE|EXISTS|FROM|WHERE|AND|OR|RETURNING|pk|"t"|'a'|''|=|\?|\(|\)|\[|\]|\{|\}|<<|>>|,|:|\.|-|7| |'|"){0,30}`
	rapid.Check(t, func(t *rapid.T) {
		statement := rapid.OneOf(rapid.String(), rapid.StringMatching(words)).Draw(t, "statement")
		Parse(statement, []types.AttributeValue{text("A"), nil})
		Parse("SELECT * FROM t WHERE "+statement, nil)
		Parse("INSERT INTO t VALUE {"+statement, nil)
	})
}
