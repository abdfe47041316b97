package httpapi

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestRejectedDocuments checks the path, reason and value in the error for each kind of invalid document.
func TestRejectedDocuments(t *testing.T) {
	for text, path := range map[string]string{
		`[1]`:                                   "",
		`1`:                                     "",
		`{"a":1} 2`:                             "",
		`{"a":[{"b":1e127}]}`:                   "a[0].b",
		`{"a":-1e-131}`:                         "a",
		`{"a":1e99999999999999999999}`:          "a",
		`{"a":` + strings.Repeat("9", 39) + `}`: "a",
		`{"a":{"":1}}`:                          "a",
		`{"a":[{"` + strings.Repeat("é", maxName/2+1) + `":1}]}`: "a[0]",
	} {
		_, err := ParseDocument([]byte(text))
		fault, ok := errors.AsType[*DocumentError](err)
		if _, number := fault.Value.(string); !ok || fault.Path != path || fault.Reason == "" || number != strings.Contains(fault.Reason, "the number") {
			t.Errorf("%.80s: %v, want an error at %q", text, err, path)
		}
	}
}

// TestTheEngineAcceptsWhatParseAccepts checks that documents at the bounds can be stored, and are the same when read.
func TestTheEngineAcceptsWhatParseAccepts(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	deep := strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30)
	for _, text := range []string{
		`{}`, `{"a":null,"b":[true,false,"",[],{}]}`, `{"n":[0,-0,1e125,-9.99e125,1e-130,0.000,12345678901234567890123456789012345678,1.5e3]}`,
		`{"a":` + strings.Repeat("9", 38) + strings.Repeat("0", 80) + `}`, `{"a":0.` + strings.Repeat("0", 120) + `1}`,
		`{"d":` + deep + `}`, `{"é\u0001😀":"\u0000\"\\"}`,
		`{"` + strings.Repeat("x", maxName) + `":{"` + strings.Repeat("é", maxName/2) + `":1}}`, `{"` + strings.Repeat("😀", maxName/4) + `":1}`,
	} {
		object, err := ParseDocument([]byte(text))
		require.NoError(t, err)
		item := map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "x"}, "sk": &types.AttributeValueMemberS{Value: "x"},
			"data": &types.AttributeValueMemberM{Value: object},
		}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &names.Items, Item: item}); err != nil {
			t.Errorf("the engine rejects %.80s: %v", text, err)
			continue
		}
		delete(item, "data")
		out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &names.Items, Key: item})
		require.NoError(t, err)
		back, err := FormatDocument(out.Item["data"].(*types.AttributeValueMemberM).Value)
		if err != nil || !sameJSON(t, []byte(text), back) {
			t.Errorf("%.80s was read as %.80s, %v", text, back, err)
		}
	}
}

// TestZerosAreStoredAsZero checks that a zero may have an exponent of any size.
func TestZerosAreStoredAsZero(t *testing.T) {
	object, err := ParseDocument([]byte(`{"a":0e9999,"b":-0,"c":0.000,"d":-0.0E-999999999999,"e":10,"f":0.10}`))
	require.NoError(t, err)
	text, err := FormatDocument(object)
	if err != nil || string(text) != `{"a":0,"b":0,"c":0,"d":0,"e":10,"f":0.10}` {
		t.Errorf("%s, %v", text, err)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		t.Fatalf("%.80s or %.80s is not JSON", a, b)
	}
	return cmp.Equal(x, y)
}
