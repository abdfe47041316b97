package infra

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

const coreRoot = ".." // path of the core module

// granted returns a function's grants on tables in the form of text.
func granted(function string) (texts []string) {
	for _, g := range grantsOf[function] {
		for _, action := range g.Actions {
			texts = append(texts, grantText(action, g.Table, g.Index))
		}
	}
	return texts
}

func grantText(action, table, index string) string {
	return strings.TrimRight(fmt.Sprintf("%s %s %s", action, table, index), " ")
}

// TestClientsHaveOnlyGrants checks that a function's client has only transactions and operations that are granted on a
// table. Each grant must have actions of DynamoDB.
func TestClientsHaveOnlyGrants(t *testing.T) {
	sdk := reflect.TypeFor[*dynamodb.Client]()
	for function, client := range map[string]reflect.Type{
		Ingest: reflect.TypeFor[ingest.Client](), Query: reflect.TypeFor[query.Client](), Aggregator: reflect.TypeFor[fold.Client](),
	} {
		var operations []string
		for _, g := range grantsOf[function] {
			operations = append(operations, g.Actions...)
		}
		for method := range client.Methods() {
			if method.Name != "TransactWriteItems" && !slices.Contains(operations, method.Name) {
				t.Errorf("the client of %s has %s, which is granted on no table", function, method.Name)
			}
		}
	}
	for function, list := range grantsOf {
		for _, g := range list {
			for _, action := range g.Actions {
				if _, ok := sdk.MethodByName(action); !ok || strings.HasPrefix(action, "Transact") {
					t.Errorf("%s: %s is no action of DynamoDB's", function, action)
				}
			}
			if len(g.Actions) == 0 {
				t.Errorf("%s: %+v grants nothing", function, g)
			}
		}
	}
}

// TestReaderMayDoTheWorkOfBoth checks that the reader has the grants of hotkeys and of aggregator, each once.
func TestReaderMayDoTheWorkOfBoth(t *testing.T) {
	both := slices.Concat(granted(Hotkeys), granted(Aggregator))
	slices.Sort(both)
	if got := slices.Sorted(slices.Values(granted(Reader))); !slices.Equal(got, slices.Compact(both)) {
		t.Errorf("granted %q, want %q", got, slices.Compact(both))
	}
}

// TestGuard checks that calls without a grant are denied: on the table, on its index, in a batch and in a transaction.
func TestGuard(t *testing.T) {
	reached := 0
	engine := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ })
	g := newGrantGuard(t, []string{"GetItem " + Items, "PutItem " + Items, "BatchGetItem " + Items, "Query " + Items + " " + schema.ByRank}, "http://127.0.0.1:1", map[string]string{"t-items": Items, "t-rollups": Rollups})
	for _, c := range []struct {
		operation, body, denied string
	}{
		{"GetItem", `{"TableName":"t-items"}`, ""},
		{"GetItem", `{"TableName":"t-rollups"}`, "GetItem " + Rollups},
		{"UpdateItem", `{"TableName":"t-items"}`, "UpdateItem " + Items},
		{"Query", `{"TableName":"t-items","IndexName":"by_rank"}`, ""},
		{"Query", `{"TableName":"t-items"}`, "Query " + Items},
		{"GetItem", `{"TableName":"other"}`, "GetItem"},
		{"BatchGetItem", `{"RequestItems":{"t-items":{}}}`, ""},
		{"BatchGetItem", `{"RequestItems":{"t-items":{},"t-rollups":{}}}`, "BatchGetItem " + Rollups},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t-items"}}]}`, ""},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t-items"}},{"Delete":{"TableName":"t-items"}}]}`, "DeleteItem " + Items},
		{"TransactWriteItems", `{"TransactItems":[{"ConditionCheck":{"TableName":"t-items"}}]}`, "ConditionCheckItem " + Items},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+c.operation)
		g.denied, reached = nil, 0
		g.handle(httptest.NewRecorder(), r, engine)
		if got := strings.Join(g.denied, ", "); got != c.denied || reached != 0 == (c.denied != "") {
			t.Errorf("%s %s: denied %q, %d calls were forwarded; want %q denied", c.operation, c.body, got, reached, c.denied)
		}
	}
	if got := g.unseen(); len(got) != 0 {
		t.Errorf("unused grants %q, want none", got)
	}
}

// TestFunctions checks that the list of functions has each folder of functions.
func TestFunctions(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(coreRoot, "functions", "*", "main.go"))
	if err != nil || len(folders) != len(Functions) {
		t.Errorf("functions %q, %v; want %q", folders, err, Functions)
	}
}
