//go:build long

package adopt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// tried has what the program of TestPrintedLinesRun needs of a table.
type tried struct {
	Table      string
	Stored     int   // items of acme
	Old, Added []row // with the name
}

// TestPrintedLinesRun compiles the lines of all tables in one program. It runs the lines, grows acme in each table, puts more
// items, and looks up and queries all items.
func TestPrintedLinesRun(t *testing.T) {
	client := enginetest.Client(t)
	began := time.Now().UTC()
	program, list := strings.Builder{}, []tried{}
	program.WriteString(runner)
	for i, c := range adoptable {
		r := examine(t, client, c.create(t, client, began), began)
		fmt.Fprintf(&program, "\nfunc init() { opens = append(opens, open%d) }\n\n// %s\nfunc open%d(ctx context.Context, client *dynamodb.Client, item table.Item, name string, now time.Time) (*table.Table, int, error) {\nfound := 0\n%s\t_ = item\n\tif err != nil {\n\t\treturn nil, 0, err\n\t}\n\tfound++\n}\nreturn &orders, found, err\n}\n", i, c.name, i, r.Lines)
		of := tried{Table: r.Table}
		for n := range 8 {
			if of.Old = append(of.Old, c.row(began, n)); of.Old[n]["customer"] == "acme" {
				of.Stored++
			}
		}
		list = append(list, of)
	}
	dir := t.TempDir()
	source, binary, items := filepath.Join(dir, "main.go"), filepath.Join(dir, "lines"), filepath.Join(dir, "items.json")
	require.NoError(t, os.WriteFile(source, []byte(program.String()), 0o600))
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, program.String())
	}
	o := client.Options()
	keys, err := o.Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	run := func(phase string) {
		text, err := json.Marshal(list)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(items, text, 0o600))
		if out, err := exec.CommandContext(t.Context(), binary, phase, items, aws.ToString(o.BaseEndpoint), o.Region, keys.AccessKeyID).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", phase, err, out)
		}
	}
	run("grow")
	for i, c := range adoptable {
		for n := range 6 {
			r := c.make(time.Now().UTC().Add(time.Duration(n-6)*1001*time.Millisecond), 100+n)
			r["customer"] = "acme"
			list[i].Added = append(list[i].Added, r)
		}
	}
	run("check")
}

// runner is the program without the tables' functions.
const runner = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

var opens []func(context.Context, *dynamodb.Client, table.Item, string, time.Time) (*table.Table, int, error)

type tried struct {
	Table      string
	Stored     int
	Old, Added []map[string]any
}

func main() {
	var list []tried
	text, err := os.ReadFile(os.Args[2])
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err != nil || decoder.Decode(&list) != nil {
		log.Fatal(err, string(text))
	}
	client := dynamodb.New(dynamodb.Options{BaseEndpoint: &os.Args[3], Region: os.Args[4], Credentials: credentials.NewStaticCredentialsProvider(os.Args[5], "local", "")})
	for i, of := range list {
		step := of.grow
		if os.Args[1] == "check" {
			step = of.check
		}
		if err := step(context.Background(), client, i); err != nil {
			log.Fatalf("table %d, %s: %v", i, of.Table, err)
		}
	}
	if os.Args[1] == "grow" {
		time.Sleep(2 * shardmap.LeadTime)
	}
}

func (t tried) grow(ctx context.Context, client *dynamodb.Client, i int) error {
	if err := setup.Create(ctx, client, setup.Names{ShardMap: t.Table + "-shard-map"}); err != nil {
		return err
	}
	orders, found, err := opens[i](ctx, client, item(t.Old[0]), "acme", time.Now())
	if err != nil || found != t.Stored {
		return fmt.Errorf("the lines find %d of %d items, %v", found, t.Stored, err)
	}
	changer := shardmap.NewChanger(client, orders.Shards.(*shardmap.Map), shardmap.ChangerOptions{})
	for range 20 { // a busy machine may exceed a change's second
		if _, err = changer.Pin(ctx, "acme", 8, shardmap.Note{By: "test", Why: "growth"}, time.Now()); err == nil {
			return nil
		}
	}
	return err
}

func (t tried) check(ctx context.Context, client *dynamodb.Client, i int) error {
	orders, _, err := opens[i](ctx, client, item(t.Old[0]), "acme", time.Now())
	if err != nil {
		return err
	}
	for _, it := range t.Added {
		if err := orders.Put(ctx, item(it), time.Now()); err != nil {
			return err
		}
	}
	for _, it := range append(t.Old, t.Added...) {
		if got, err := orders.Get(ctx, item(it), time.Now()); err != nil || got == nil {
			return fmt.Errorf("Get of %v: %v, %v", it, got, err)
		}
	}
	want := t.Stored + len(t.Added)
	for _, err := range orders.Query(ctx, "acme", table.Span{}, time.Now()) {
		if err != nil {
			return err
		}
		want--
	}
	if want != 0 {
		return fmt.Errorf("the query misses %d items", want)
	}
	return nil
}

func item(of map[string]any) table.Item {
	it := table.Item{}
	for name, v := range of {
		switch v := v.(type) {
		case string:
			it[name] = &types.AttributeValueMemberS{Value: v}
		case json.Number:
			it[name] = &types.AttributeValueMemberN{Value: v.String()}
		case map[string]any:
			it[name] = &types.AttributeValueMemberM{Value: item(v)}
		}
	}
	return it
}

`
