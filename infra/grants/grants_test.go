package grants

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotshard/hotshard/infra/calls"
	"github.com/hotshard/hotshard/internal/schema"
)

const root = "../.." // of the core module

var code = sync.OnceValues(func() (*calls.Code, error) { return calls.Load(root, nil) })

// needed is what a function's code can call, as granted returns it.
func needed(t *testing.T, c *calls.Code, function string) []string {
	t.Helper()
	list, err := c.Of("functions/" + function)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, call := range list {
		texts = append(texts, text(call.Service, call.Action, call.Table, call.Index))
	}
	slices.Sort(texts)
	return texts
}

func granted(function string, grants []Grant) []string {
	var texts []string
	for _, g := range grants {
		for _, action := range g.Actions {
			if g.Function == function {
				texts = append(texts, text("dynamodb", action, g.Table, g.Index))
			}
		}
	}
	if slices.Contains(Metrics, function) {
		texts = append(texts, text("cloudwatch", "PutMetricData", "", ""))
	}
	if slices.Contains(Streams, function) {
		texts = append(texts, text("dynamodbstreams", "DescribeStream", "", ""))
	}
	slices.Sort(texts)
	return texts
}

func text(service, action, table, index string) string {
	return strings.TrimRight(fmt.Sprintf("%s:%s %s %s", service, action, table, index), " ")
}

// compare says what is called and not granted, and the reverse.
func compare(needed, granted []string) (faults []string) {
	for _, n := range needed {
		if !slices.Contains(granted, n) {
			faults = append(faults, "not granted: "+n)
		}
	}
	for _, g := range granted {
		if !slices.Contains(needed, g) {
			faults = append(faults, "granted for nothing: "+g)
		}
	}
	return faults
}

func TestGrantsAreWhatTheCodeCalls(t *testing.T) {
	c, err := code()
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range Functions {
		for _, fault := range compare(needed(t, c, function), granted(function, All)) {
			t.Errorf("%s: %s", function, fault)
		}
	}
}

// TestWithoutAGrant takes each grant away, and adds one, and expects that to be found.
func TestWithoutAGrant(t *testing.T) {
	c, err := code()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{}
	for _, function := range Functions {
		lists[function] = needed(t, c, function)
	}
	for at, g := range All {
		for n, action := range g.Actions {
			fewer := slices.Clone(All)
			fewer[at].Actions = slices.Delete(slices.Clone(g.Actions), n, n+1)
			want := "not granted: " + text("dynamodb", action, g.Table, g.Index)
			if faults := compare(lists[g.Function], granted(g.Function, fewer)); !slices.Equal(faults, []string{want}) {
				t.Errorf("%s: found %q, want %q", g.Function, faults, want)
			}
		}
	}
	more := append(slices.Clone(All), Grant{Function: Query, Table: Items, Actions: []string{"PutItem"}})
	want := "granted for nothing: dynamodb:PutItem HOTSHARD_ITEMS_TABLE"
	if faults := compare(lists[Query], granted(Query, more)); !slices.Equal(faults, []string{want}) {
		t.Errorf("found %q, want %q", faults, want)
	}
}

// TestWithOtherCalls changes the code, and expects that to be found.
func TestWithOtherCalls(t *testing.T) {
	const read = "out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.settings.ItemsTable,"
	const send = "_, err := c.client.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{Namespace: &namespace, MetricData: batch})"
	for _, c := range []struct{ name, file, from, to, function, want string }{
		{
			"a call through another interface", "internal/query/boards.go", read, `_, _ = s.client.(interface {
				PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
			}).PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.settings.RollupsTable}); ` + read,
			Query, "not granted: dynamodb:PutItem HOTSHARD_ROLLUPS_TABLE",
		},
		{
			"another table for the same calls", "functions/aggregator/main.go", "return rollup.New(",
			"settings.RollupsTable = settings.ShardMapTable; return rollup.New(",
			Aggregator, "not granted: dynamodb:Scan HOTSHARD_SHARD_MAP_TABLE",
		},
		{
			"an index for the table", "internal/hotkey/recent.go", "TableName: &h.settings.HeatTable,",
			`TableName: &h.settings.HeatTable, IndexName: aws.String("by_heat"),`,
			Hotkeys, "not granted: dynamodb:Query HOTSHARD_HEAT_TABLE by_heat",
		},
		{
			"the stream left alone", "functions/hotkeys/main.go", "Partitions: hotkey.OpenShards(streams),", "Partitions: func() func(context.Context, string) (int, error) { _ = streams; return nil }(),",
			Hotkeys, "granted for nothing: dynamodbstreams:DescribeStream",
		},
		{
			"a call that is gone", "internal/metrics/cloudwatch.go", send, "_, err := namespace, error(nil)",
			Hotkeys, "granted for nothing: cloudwatch:PutMetricData",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, err := calls.Load(root, overlay(t, c.file, c.from, c.to))
			if err != nil {
				t.Fatal(err)
			}
			if faults := compare(needed(t, code, c.function), granted(c.function, All)); !slices.Contains(faults, c.want) {
				t.Errorf("found %q, want %q", faults, c.want)
			}
		})
	}
}

func overlay(t *testing.T, file, from, to string) map[string][]byte {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(path)
	content := string(bytes)
	if err != nil || strings.Count(content, from) != 1 {
		t.Fatalf("%s does not have %q once, %v", file, from, err)
	}
	return map[string][]byte{path: []byte(strings.Replace(content, from, to, 1))}
}

func TestFunctionsAndIndexes(t *testing.T) {
	if ByRank != schema.ByRank || ByGroup != schema.ByGroup {
		t.Errorf("the indexes are called %q and %q", schema.ByRank, schema.ByGroup)
	}
	folders, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil || len(folders) != len(Functions) {
		t.Errorf("there are %q, %v", folders, err)
	}
}
