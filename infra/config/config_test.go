package config

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
)

func TestDefaults(t *testing.T) {
	c, err := Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Names().Items != "hotshard-items" || c.Attached() || !slices.Equal(c.Sources(), []string{"hotshard-items", "hotshard-events"}) || c.Hotkeys.Window != 10*time.Second || c.Ingest.Control != growth.Act {
		t.Errorf("defaults %+v", c)
	}
	if got := c.Environment("ingest")["HOTSHARD_EVENT_AHEAD"]; got != "2s" {
		t.Errorf("ingest gets the write deadline %q, want 2s", got)
	}
}

func TestSettingsReachFunctions(t *testing.T) {
	c, err := Parse(map[string]any{
		"prefix": "a-", "window": "20s", "threshold": 0.5, "control": "observe", "topK": "500", "pitr": false, "email": "ops@example.com", "eventRetention": "45d",
		"rollups": false, "@aws-cdk/core:something": true, "aws:cdk:enable-asset-metadata": []any{}, "cli-telemetry": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Hotkeys.Window != 20*time.Second || c.Ingest.EventRetention != 45*24*time.Hour || c.Hotkeys.Threshold != 0.5 || c.Hotkeys.Control != growth.Observe ||
		c.Ingest.Control != growth.Observe || c.Hotkeys.TopK != 500 || c.PITR || c.Environment("aggregator")["HOTSHARD_ROLLUPS"] != "false" ||
		c.Query.ItemsTable != "a-items" {
		t.Errorf("settings %+v", c)
	}
}

// tokens are the settings of a deployment that accepts tokens.
var tokens = map[string]any{"auth": "jwt", "jwtIssuer": "https://x.example", "jwtAudience": "a"}

// good are the settings of an attached deployment.
var good = map[string]any{
	"prefix": "orders-", "sourceStreamArn": "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2026-01-05T12:00:00.000",
}

func TestAttached(t *testing.T) {
	c, err := Parse(good)
	if err != nil || !c.Attached() || !slices.Equal(c.Sources(), []string{"orders"}) || c.Hotkeys.SourceTable != "orders" {
		t.Errorf("attached: %+v, %v", c, err)
	}
}

// TestFaults checks that an error names the setting, its value and what is wanted.
func TestFaults(t *testing.T) {
	for want, context := range map[string]map[string]any{
		`windw: there is no such setting: docs/deploy.md lists the settings`:   {"windw": "10s"},
		`itemsTable: there is no such setting`:                                 {"itemsTable": "x"},
		`warmWriteUnits: there is no such setting`:                             {"warmWriteUnits": "8000"},
		`apiRate is 1: want 2 to 100000`:                                       {"apiRate": "1"},
		`peakWrites is -1: want 0 to`:                                          {"peakWrites": "-1"},
		`peakReads is 0: want 1 or more, as billing is provisioned`:            {"billing": "provisioned", "peakWrites": "5"},
		`peakWrites is 0: want 1 or more, as billing is provisioned`:           {"billing": "provisioned", "peakReads": "5"},
		`peakReads is set, but a deployment that is attached`:                  with(good, "peakReads", "5"),
		`window: it is map[a:1]: want a text, a number, true, false or a list`: {"window": map[string]any{"a": 1}},
		`window is "soon"`:  {"window": "soon"},
		`pitr is "perhaps"`: {"pitr": "perhaps"},
		`window is 16m0s: want whole seconds, 1s to 15m`: {"window": "16m"},
		`window is 1.5s: want whole seconds`:             {"window": "1500ms"},
		`threshold is 1.5`:                               {"threshold": "1.5"},
		`control is "maybe"`:                             {"control": "maybe"},
		`topK is 5`:                                      {"topK": "5"},
		`prefix is "hotshard"`:                           {"prefix": "hotshard"},
		`prefix is "1-"`:                                 {"prefix": "1-"},
		`prefix is "a_b-"`:                               {"prefix": "a_b-"},
		`tags is "team": want key=value`:                 {"tags": "cost=1,team"},
		`tags is "aws:team=x": want key=value`:           {"tags": "aws:team=x"},
		`tags is "team=a;b": want key=value`:             {"tags": []any{"team=a;b"}},
		`tags is 41: want up to 40`:                      {"tags": "x=" + strings.Repeat(",", 40)},
		`corsOrigins is "*": want origins such as https://app.example.com`: {"corsOrigins": "*"},
		`corsOrigins is "https://app.example.com/": want origins`:          {"corsOrigins": "https://app.example.com/"},
		`corsOrigins is "http://app.example.com": want origins`:            {"corsOrigins": "http://app.example.com"},
		`corsOrigins is set, but a deployment that is attached`:            with(good, "corsOrigins", "https://app.example.com"),
		`email is "ops"`:                  {"email": "ops"},
		`auth is "none": want iam or jwt`: {"auth": "none"},
		`jwtIssuer is ""`:                 {"auth": "jwt", "jwtAudience": "a"},
		`jwtAudience is empty`:            {"auth": "jwt", "jwtIssuer": "https://x.example"},
		`jwtIssuer is "http://x.example"`: {"auth": "jwt", "jwtIssuer": "http://x.example", "jwtAudience": "a"},
		`jwtIssuer, jwtAudience, jwtScopes and jwtAdminScopes are for auth=jwt, and auth is "iam"`: {"jwtIssuer": "https://x.example"},
		`jwtScopes and jwtAdminScopes are for auth=jwt`:                                            {"jwtAdminScopes": "ops"},
		`jwtScopes is "a b": want scopes of 1 to 64 characters`:                                    with(tokens, "jwtScopes", "a b"),
		`jwtAdminScopes is "": want scopes`:                                                        with(tokens, "jwtAdminScopes", "ops,,more"),
		`jwtAdminScopes and jwtScopes both have "all": all callers with it would be operators`:     with(with(tokens, "jwtScopes", "data,all"), "jwtAdminScopes", "all"),
		`removal is "keep": want retain or destroy`:                                                {"removal": "keep"},
		`encryption is "none"`:                                              {"encryption": "none"},
		`billing is "cheap": want ondemand or provisioned`:                  {"billing": "cheap"},
		`accountConcurrency is 9: want 10 to 1000000`:                       {"accountConcurrency": "9"},
		`eventRetention is 1m0s`:                                            {"eventRetention": "1m"},
		`rollupRetention is 1h0m0s`:                                         {"rollupRetention": "1h"},
		`rollups is "maybe"`:                                                {"rollups": "maybe"},
		`jwtAudience: it has 1: want a list of texts`:                       {"jwtAudience": []any{"a", 1}},
		`window is 2m0s: want 1s to 1m`:                                     {"window": "2m"},
		`rollupWindow is 1m1s: want whole seconds, 1s to 1m`:                {"rollupWindow": "61s"},
		`rollupWindow is 1.5s: want whole seconds`:                          {"rollupWindow": "1500ms"},
		`rollupWindow is set, but a deployment that is attached to a table`: with(good, "rollupWindow", "5s"),
		`sourceKeyArn is "alias/orders": want the ARN of a key (not of an alias) in the table's Region, eu-central-1`: with(good, "sourceKeyArn", "alias/orders"),
		`sourceKeyArn is "arn:aws:kms:us-east-1:`:                                                 with(good, "sourceKeyArn", "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab"),
		`sourceKeyArn is "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab": want nothing`: {"sourceKeyArn": "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab"},
		`prefix is not set, and sourceStreamArn is`:                                               {"sourceStreamArn": good["sourceStreamArn"]},
		`sourceStreamArn is "orders": want the ARN of a DynamoDB table's stream`:                  with(good, "sourceStreamArn", "orders"),
		`control is "act": want off for a table that is only watched`:                             with(good, "control", "act"),
		`auth is set, but a deployment that is attached to a table does not use`:                  with(good, "auth", "iam"),

		`rollup-window: there is no such setting`:   {"rollup-window": "10s"},
		`HOTSHARD_WINDOW: there is no such setting`: {"HOTSHARD_WINDOW": "10s"},
		`streamShards is "4k": want a whole number`: {"streamShards": "4k"},
		`topK is "2.5": want a whole number`:        {"topK": 2.5},
		`threshold is "high": want a number`:        {"threshold": "high"},
		`pitr is "off": want true or false`:         {"pitr": "off"},
		`tags is "a=2": want each key once`:         {"tags": "a=1,a=2"},
		`want at least one audience`:                {"auth": "jwt", "jwtIssuer": "https://x.example", "jwtAudience": []any{}},
	} {
		if c, err := Parse(context); err == nil || !strings.Contains(err.Error(), want) || c != nil {
			t.Errorf("%v: error %v, want %s", context, err, want)
		}
	}
}

// TestBatchingWindow checks that the number of stream shards decides the batching window, up to the detector's window.
func TestBatchingWindow(t *testing.T) {
	for _, c := range []struct {
		context map[string]any
		want    time.Duration
	}{
		{nil, time.Second},
		{map[string]any{"streamShards": "50"}, time.Second},
		{map[string]any{"streamShards": "51"}, 5 * time.Second},
		{map[string]any{"streamShards": "51", "window": "3s"}, 3 * time.Second},
	} {
		if got, err := Parse(c.context); err != nil || got.BatchingWindow() != c.want {
			t.Errorf("%v: %v, %v; want %v", c.context, got, err, c.want)
		}
	}
}

// TestReserved checks the reservations of both kinds of deployments, and how many stream shards they can read at once.
func TestReserved(t *testing.T) {
	for _, c := range []struct {
		context map[string]any
		want    map[string]int
		stream  int
	}{
		{nil, map[string]int{"ingest": 320, "query": 160, "hotkeys": 160, "aggregator": 160}, 160},
		{map[string]any{"accountConcurrency": "300"}, map[string]int{"ingest": 68, "query": 34, "hotkeys": 34, "aggregator": 34}, 34},
		{map[string]any{"accountConcurrency": "100"}, map[string]int{"ingest": 0, "query": 0, "hotkeys": 0, "aggregator": 0}, 100},
		{map[string]any{"accountConcurrency": "10"}, map[string]int{"ingest": 0, "query": 0, "hotkeys": 0, "aggregator": 0}, 10},
		{good, map[string]int{"hotkeys": 160}, 160},
		{with(good, "accountConcurrency", "10"), map[string]int{"hotkeys": 0}, 10},
	} {
		got, err := Parse(c.context)
		if err != nil || !maps.Equal(got.Reserved(), c.want) || got.StreamConcurrency() != c.stream {
			t.Errorf("%v: %v, %v; want %v", c.context, got, err, c.want)
		}
	}
}

// TestReservationsChangeInAnyOrder checks that no order in which CloudFormation changes the functions exceeds the quota:
// Lambda rejects a reservation that leaves less than 100, and the deployment fails.
func TestReservationsChangeInAnyOrder(t *testing.T) {
	const quota = 1000
	most := map[string]int{}
	for _, shards := range []string{"1", "4", "156", "400"} {
		c, err := Parse(map[string]any{"streamShards": shards})
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range c.Reserved() {
			most[name] = max(most[name], n)
		}
	}
	sum := 0
	for _, n := range most {
		sum += n
	}
	if sum > quota-100 {
		t.Errorf("a change of streamShards may reserve %d of %d in between: %v", sum, quota, most)
	}
}

// TestUnits checks the capacity that follows from the peaks, of tables and of indexes.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		context       map[string]any
		reads, writes Units
	}{
		{nil, Units{}, Units{}},
		{map[string]any{"peakWrites": "7"}, Units{}, Units{Max: 14}},
		{map[string]any{"peakReads": "1", "peakWrites": "1", "billing": "provisioned"}, Units{1, 2, 2}, Units{1, 2, 2}},
		{map[string]any{"peakReads": "700", "peakWrites": "7000", "billing": "provisioned"}, Units{70, 1000, 1400}, Units{700, 10_000, 14_000}},
	} {
		config, err := Parse(c.context)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{config.Names().Items, config.Names().Events, config.Names().Rollups} {
			if reads, writes := config.Units(table); reads != c.reads || writes != c.writes {
				t.Errorf("%v, %s: %+v and %+v, want %+v and %+v", c.context, table, reads, writes, c.reads, c.writes)
			}
		}
		if reads, writes := config.Units(config.Names().Heat); reads != (Units{}) || writes != (Units{}) {
			t.Errorf("%v: heat has %+v and %+v, want none", c.context, reads, writes)
		}
		c.reads.Min, c.writes.Min = min(1, c.reads.Min), min(1, c.writes.Min)
		if reads, writes := config.IndexUnits(); reads != c.reads || writes != c.writes {
			t.Errorf("%v, indexes: %+v and %+v, want %+v and %+v", c.context, reads, writes, c.reads, c.writes)
		}
	}
}

// with returns a context with another setting.
func with(context map[string]any, key string, value any) map[string]any {
	more := maps.Clone(context)
	more[key] = value
	return more
}

// TestForms checks that values of a JSON file mean the same as their text on the command line.
func TestForms(t *testing.T) {
	c, err := Parse(map[string]any{
		"peakWrites": 1000000.0, "threshold": 0.5, "pitr": true, "auth": "jwt", "jwtIssuer": "https://x.example",
		"jwtAudience": []any{"one", "two"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.PeakWrites != 1_000_000 || c.Hotkeys.Threshold != 0.5 || !slices.Equal(c.JWTAudience, []string{"one", "two"}) {
		t.Errorf("settings %+v", c)
	}
}

// TestAllFaultsAreListed checks that the faults of the stack's and the functions' settings are listed together, each
// once.
func TestAllFaultsAreListed(t *testing.T) {
	_, err := Parse(map[string]any{"windw": "1s", "window": "1h", "pitr": "x", "auth": "none", "eventAhead": "1h", "removal": "keep", "eventRetention": "1m"})
	if err == nil {
		t.Fatal("Parse returned no error")
	}
	for _, want := range []string{"windw: ", "window is ", "pitr is ", "auth is ", "eventAhead is ", "removal is ", "eventRetention is "} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("the error must have %q once:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "HOTSHARD_") {
		t.Errorf("the error names environment variables instead of settings:\n%v", err)
	}
}

// TestKeys checks the names of the settings, and which of them an attached deployment does not use.
func TestKeys(t *testing.T) {
	seen := map[string]Key{}
	for _, k := range Keys() {
		if _, twice := seen[k.Name]; twice || !isSetting(k.Name, nil) {
			t.Errorf("the setting %q is listed twice, or has an invalid name", k.Name)
		}
		seen[k.Name] = k
	}
	for variable, key := range map[string]string{"HOTSHARD_ROLLUPS": "rollups", "HOTSHARD_TOP_K": "topK", "HOTSHARD_PARTITION_WCU": "partitionWcu"} {
		if seen[key].Variable != variable {
			t.Errorf("%s is %+v, want the variable %s", key, seen[key], variable)
		}
	}
	without := allUnattached()
	for _, key := range without {
		if _, ok := seen[key]; !ok {
			t.Errorf("there is no setting %s", key)
		}
	}
	for key, want := range map[string]bool{"rollups": true, "window": false, "metricNames": false} {
		if got := slices.Contains(without, key); got != want {
			t.Errorf("%s is rejected in an attached deployment: %t, want %t", key, got, want)
		}
	}
	if _, ok := seen["itemsTable"]; ok {
		t.Error("itemsTable is a setting, but names follow from the prefix")
	}
}

// TestDefaultsAgree checks that a setting of several functions has one default.
func TestDefaultsAgree(t *testing.T) {
	defaults := map[string]string{}
	for name, settings := range emptySettings() {
		for _, p := range fields(settings) {
			if d, seen := defaults[p.Key]; seen && d != p.DefaultValue {
				t.Errorf("%s reads %s with the default %q, another with %q", name, p.Key, p.DefaultValue, d)
			}
			defaults[p.Key] = p.DefaultValue
		}
	}
	for variable := range (&Config{}).computed() {
		if _, read := defaults[variable]; !read {
			t.Errorf("no function reads %s", variable)
		}
	}
}
