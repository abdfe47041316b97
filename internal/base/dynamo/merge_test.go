package dynamo_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// paged is a table whose partitions are texts, one letter for each item's sort key, read in pages.
type paged struct {
	parts map[string]string
	size  int         // of a page; 0 is 2
	end   dynamo.Item // the last page's LastEvaluatedKey
	fail  string      // the partition whose second page can't be read
	mu    sync.Mutex
	asked []string // partition and limit of each query
}

func (p *paged) page(pk string, after dynamo.Item, limit *int32) ([]dynamo.Item, dynamo.Item, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, fmt.Sprint(pk, aws.ToInt32(limit)))
	left := p.parts[pk]
	if _, rest, found := strings.Cut(left, dynamo.Text(after, "sk")); found && after != nil {
		left = rest
		if p.fail == pk {
			return nil, nil, errors.New("the disk is full")
		}
	}
	var items []dynamo.Item
	size := cmp.Or(p.size, 2)
	for _, letter := range left[:min(len(left), size)] {
		items = append(items, dynamo.Key(pk, string(letter)))
	}
	if len(left) <= size {
		return items, p.end, nil
	}
	return items, items[size-1], nil
}

func (p *paged) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	items, last, err := p.page(dynamo.Text(in.ExpressionAttributeValues, ":pk"), in.ExclusiveStartKey, in.Limit)
	return &dynamodb.QueryOutput{Items: items, Count: int32(len(items)), LastEvaluatedKey: last}, err
}

func (p *paged) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	items, last, err := p.page(*in.TableName, in.ExclusiveStartKey, in.Limit)
	return &dynamodb.ScanOutput{Items: items, LastEvaluatedKey: last}, err
}

func (p *paged) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if !aws.ToBool(in.ConsistentRead) || p.parts[dynamo.Text(in.Key, "pk")] == "" {
		return nil, errors.New("no such partition")
	}
	return &dynamodb.GetItemOutput{Item: in.Key}, nil
}

// query returns the input that reads a partition.
func query(pk string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(pk)}}
}

// streams returns a stream for each of these partitions.
func (p *paged) streams(partitions ...string) (list []*dynamo.Stream) {
	for i, pk := range partitions {
		list = append(list, &dynamo.Stream{Client: p, Input: query(pk), SortKey: "sk", TieBreaker: "tie", Order: i})
	}
	return list
}

// drain returns all items of a merge as partition and sort key.
func drain(t *testing.T, m *dynamo.Merge) string {
	var read []string
	for {
		order := m.NextOrder()
		it, err := m.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if it == nil {
			if order != -1 {
				t.Errorf("at the end the next stream is %d", order)
			}
			return strings.Join(read, " ")
		}
		if pk := dynamo.Text(it, "pk"); pk != string(rune('p'+order)) {
			t.Errorf("the item of %s was announced as of stream %d", pk, order)
		}
		read = append(read, dynamo.Text(it, "pk")+dynamo.Text(it, "sk"))
	}
}

// TestPagesEnd checks that an empty LastEvaluatedKey ends a query and a scan, as a missing one does, and that an error does.
func TestPagesEnd(t *testing.T) {
	for name, end := range map[string]dynamo.Item{"nil": nil, "empty": {}} {
		table := &paged{parts: map[string]string{"p": "abcde"}, end: end}
		queried, scanned := "", ""
		for item, err := range dynamo.Items(t.Context(), table, query("p")) {
			if queried += dynamo.Text(item, "sk"); err != nil || len(queried) > 5 {
				t.Fatalf("%s: queried %s: %v", name, queried, err)
			}
		}
		for page, err := range dynamo.ScanPages(t.Context(), table, &dynamodb.ScanInput{TableName: aws.String("p")}) {
			if err != nil || len(scanned) > 5 {
				t.Fatalf("%s: scanned %s: %v", name, scanned, err)
			}
			for _, it := range page.Items {
				scanned += dynamo.Text(it, "sk")
			}
		}
		if queried != "abcde" || scanned != "abcde" {
			t.Errorf("%s: queried %s, scanned %s", name, queried, scanned)
		}
	}
	table := &paged{parts: map[string]string{"p": "abcde"}, fail: "p"}
	items, failed := 0, 0
	for _, err := range dynamo.Items(t.Context(), table, query("p")) {
		if items++; err != nil {
			failed++
		}
	}
	for _, err := range dynamo.ScanPages(t.Context(), table, &dynamodb.ScanInput{TableName: aws.String("p")}) {
		if items++; err != nil {
			failed++
		}
	}
	if items != 2+1+1+1 || failed != 2 || len(table.asked) != 4 {
		t.Errorf("%d items and pages, %d errors, in %d requests", items, failed, len(table.asked))
	}
	for range dynamo.Items(t.Context(), table, query("p")) {
		break
	}
	if len(table.asked) != 5 {
		t.Error("a loop that ended reads on")
	}
}

// TestMerge checks the order of items, and the queries' partitions and limits.
func TestMerge(t *testing.T) {
	parts := map[string]string{"p": "adgjm", "q": "bcdek", "r": "", "s": "z", "P": "mjgda", "Q": "kedcb"}
	for name, c := range map[string]struct {
		partitions []string
		desc       bool
		ahead      bool
		want       int
		items      string
		asked      string // after the first page of each
	}{
		"one":        {[]string{"p"}, false, false, 0, "pa pd pg pj pm", "p0 p0"},
		"ascending":  {[]string{"p", "q", "r", "s"}, false, false, 0, "pa qb qc pd qd qe pg pj qk pm sz", "q0 p0 q0 p0"},
		"the other":  {[]string{"p", "q"}, false, true, 0, "pa qb qc pd qd qe pg pj qk pm", "p0 q0 p0 q0"},
		"with limit": {[]string{"p", "q"}, false, false, 12, "pa qb qc pd qd qe pg pj qk pm", "q12 p12 q10 p8"},
	} {
		table := &paged{parts: parts}
		m, err := dynamo.NewMerge(t.Context(), table.streams(c.partitions...), c.desc)
		if err != nil {
			t.Fatal(err)
		}
		if len(table.asked) != len(c.partitions) {
			t.Errorf("%s: began with %v", name, table.asked)
		}
		table.asked = nil
		m.Ahead, m.Want = c.ahead, c.want
		items := drain(t, m)
		if c.ahead {
			slices.Sort(table.asked[:2])
			slices.Sort(table.asked[2:])
		}
		if asked := strings.Join(table.asked, " "); items != c.items || asked != c.asked {
			t.Errorf("%s: %s\nafter %s; want\n%s\nafter %s", name, items, asked, c.items, c.asked)
		}
	}
}

// TestMergeAhead checks that the next page of a stream is read with another's if at most a quarter of its last one is left.
func TestMergeAhead(t *testing.T) {
	for q, c := range map[string]struct {
		ahead bool
		pages string // of the first refill, sorted
	}{"bdfhjlnp": {true, "p0 q0"}, "bdhijlnp": {true, "p0"}, "bdfh": {true, "p0"}, "bdfhjlnq": {false, "p0"}} {
		table := &paged{parts: map[string]string{"p": "acegikmo", "q": q}, size: 4}
		m, err := dynamo.NewMerge(t.Context(), table.streams("p", "q"), false)
		if err != nil {
			t.Fatal(err)
		}
		read := ""
		for table.asked, m.Ahead = nil, c.ahead; len(table.asked) == 0; {
			it, err := m.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			read += dynamo.Text(it, "sk")
		}
		slices.Sort(table.asked)
		if got := strings.Join(table.asked, " "); got != c.pages || read[len(read)-1] != 'g' {
			t.Errorf("%s: after %s, read %s, want %s", q, read, got, c.pages)
		}
	}
}

// TestMergeOrder checks descending order, ties, and what is dropped.
func TestMergeOrder(t *testing.T) {
	item := func(pk, sk, tie string) dynamo.Item {
		it := dynamo.Key(pk, sk)
		if tie != "" {
			it["tie"] = dynamo.String(tie)
		}
		return it
	}
	for name, c := range map[string]struct {
		p, q []dynamo.Item
		desc bool
		want string
	}{
		"ascending":     {[]dynamo.Item{item("p", "a", "2"), item("p", "c", "")}, []dynamo.Item{item("q", "a", "1"), item("q", "b", "")}, false, "qa pa qb pc"},
		"descending":    {[]dynamo.Item{item("p", "c", ""), item("p", "a", "2")}, []dynamo.Item{item("q", "b", ""), item("q", "a", "1")}, true, "pc qb pa qa"},
		"equal":         {[]dynamo.Item{item("p", "a", "")}, []dynamo.Item{item("q", "a", "")}, false, "pa qa"},
		"equal, desc":   {[]dynamo.Item{item("p", "a", "")}, []dynamo.Item{item("q", "a", "")}, true, "qa pa"},
		"second's tie":  {[]dynamo.Item{item("p", "a", "2")}, []dynamo.Item{item("q", "a", "")}, false, "qa pa"},
		"nothing there": {nil, nil, false, ""},
	} {
		streams := []*dynamo.Stream{{Buf: c.p, Done: true, SortKey: "sk", TieBreaker: "tie"}, {Buf: c.q, Done: true, SortKey: "sk", TieBreaker: "tie", Order: 1}}
		m, err := dynamo.NewMerge(t.Context(), streams, c.desc)
		if err != nil {
			t.Fatal(err)
		}
		if got := drain(t, m); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestStreamsSkipCountAndFail checks dropped items, counts and errors of streams.
func TestStreamsSkipCountAndFail(t *testing.T) {
	table := &paged{parts: map[string]string{"p": "abcdefg", "q": "hij"}, fail: "q"}
	streams := table.streams("p", "q")
	streams[0].Drop = func(it dynamo.Item) bool { return !strings.Contains("af", dynamo.Text(it, "sk")) }
	m, err := dynamo.NewMerge(t.Context(), streams, false)
	if err != nil {
		t.Fatal(err)
	}
	read := ""
	for range 3 {
		it, err := m.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		read += dynamo.Text(it, "sk")
	}
	if _, err := m.Next(t.Context()); read != "afh" || err == nil || err.Error() != `querying "q": the disk is full` {
		t.Errorf("read %s, then %v", read, err)
	}
	if n, err := table.streams("p")[0].Count(t.Context()); n != 7 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
	if n, err := table.streams("q")[0].Count(t.Context()); n != 2 || err == nil || err.Error() != `querying "q": the disk is full` {
		t.Errorf("counted %d, %v", n, err)
	}
	unnamed := &dynamo.Stream{Client: table, Input: &dynamodb.QueryInput{ExpressionAttributeValues: dynamo.Item{":shard": dynamo.String("x")}}}
	for _, want := range []string{`querying "x": `, "querying a partition: "} {
		ended, cancel := context.WithDeadline(t.Context(), time.Now())
		unnamed.Client = failing{}
		if _, err := unnamed.Count(ended); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		cancel()
		unnamed.Input.ExpressionAttributeValues = nil
	}
	ended, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, err := dynamo.NewMerge(ended, []*dynamo.Stream{{Client: failing{}, Input: &dynamodb.QueryInput{}}}, false); err == nil {
		t.Error("a merge of a stream that can't be read")
	}
	if it, err := dynamo.Get(t.Context(), table, "t", "p", "k"); err != nil || dynamo.Text(it, "sk") != "k" {
		t.Errorf("%v, %v", it, err)
	}
	if _, err := dynamo.Get(t.Context(), table, "t", "none", "k"); err == nil {
		t.Error("an error was dropped")
	}
}

type failing struct{}

func (failing) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, &types.ResourceNotFoundException{}
}

// TestPageSize checks the limit of a query by the items that are still to be read.
func TestPageSize(t *testing.T) {
	for _, c := range []struct {
		n, shards int
		want      int32
	}{
		{10, 1, 13}, {0, 1, 3}, {-1, 1, 3}, {math.MaxInt, 1, math.MaxInt32},
		{100, 4, 42}, {16, 16, 6}, {0, 4, 2}, {-1, 4, 2}, {math.MaxInt, 2, math.MaxInt32},
	} {
		if got := dynamo.PageSize(c.n, c.shards); got != c.want {
			t.Errorf("%d items of %d write shards: %d, want %d", c.n, c.shards, got, c.want)
		}
	}
}
