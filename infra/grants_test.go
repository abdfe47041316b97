package infra

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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
