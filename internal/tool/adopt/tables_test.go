package adopt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/adopt"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestAdoptULIDsPrefixesOffsetsAndCreatedAt checks that tables of all forms are adopted, and that after a growth the library finds every item, old
// and new, by its key and in order.
func TestAdoptULIDsPrefixesOffsetsAndCreatedAt(t *testing.T) {
	client := enginetest.Client(t)
	for _, c := range adoptable {
		t.Run(c.name, func(t *testing.T) {
			r := examine(t, client, c.create(t, client, now), now)
			if len(r.Refusals) > 0 || !strings.Contains(r.Lines, c.want) {
				t.Fatalf("refusals %q and lines %q, want %q", r.Refusals, r.Lines, c.want)
			}
			growth := now.Add(shardmap.LeadTime)
			orders := r.Sharded(client, libtest.Steps{History: shard.History{{At: growth, Count: 24}}})
			all := c.items(now)
			later := growth.Add(8 * 24 * time.Hour) // a week later, for times of whole weeks
			for n := range 6 {
				added := c.make(later.Add(time.Duration(n)*time.Minute), 100+n)
				added["customer"] = "acme"
				it := added.item()
				require.NoError(t, orders.Put(t.Context(), it, later.Add(time.Hour)))
				all = append(all, it)
			}
			checkAll(t, orders, all, later.Add(time.Hour))
			if plain := stored(t, client, r.Table); plain >= len(all)-2 {
				t.Errorf("%d of %d items are under the plain names after the growth", plain, len(all))
			}
		})
	}
}

// TestTablesWithoutATimeOfTheirOwn checks that adopt takes no other number or text for an item's time: it says why it found
// none, and its lines have a function to fill in.
func TestTablesWithoutATimeOfTheirOwn(t *testing.T) {
	client := enginetest.Client(t)
	for _, c := range refused {
		r := examine(t, client, c.create(t, client, now), now)
		if len(r.Refusals) != 1 || !strings.Contains(r.Refusals[0], c.want) || !strings.Contains(r.Refusals[0], fillInTime) || !strings.Contains(r.Lines, unfinishedLayout) {
			t.Errorf("%s: refusals %q and lines %q, want %q", c.name, r.Refusals, r.Lines, c.want)
		}
	}
}

const fillInTime = "fill in the function Time of the lines"

// row returns one of eight rows of two names, one every 7 minutes before now.
func (c theirs) row(now time.Time, n int) row {
	at := now.Add(time.Duration(-7*n-7)*time.Minute + time.Duration(n)*1_001_001*time.Nanosecond)
	r := c.make(at, n)
	r["customer"] = []string{"acme", "beta"}[n/6]
	return r
}

func (c theirs) items(now time.Time) (list []item) {
	for n := range 8 {
		list = append(list, c.row(now, n).item())
	}
	return list
}

// create creates the table with its items, and returns its name.
func (c theirs) create(t *testing.T, client *dynamodb.Client, now time.Time) string {
	t.Helper()
	items := c.items(now)
	kind := types.ScalarAttributeTypeS
	if _, number := items[0]["placed"].(*types.AttributeValueMemberN); number {
		kind = types.ScalarAttributeTypeN
	}
	return fill(t, client, kind, items...)
}

func examine(t *testing.T, client adopt.Client, name string, now time.Time) *adopt.Report {
	t.Helper()
	r, err := adopt.Examine(t.Context(), client, adopt.Options{Table: name, Format: shard.HashShard, ReadUnits: 1000, Now: now})
	require.NoError(t, err)
	return r
}

// checkAll checks that Get finds each item, and that Query returns those of acme in order.
func checkAll(t *testing.T, orders *table.Table, all []item, now time.Time) {
	t.Helper()
	want := 0
	for _, it := range all {
		got, err := orders.Get(t.Context(), it, now)
		if err != nil || !dynamo.EqualValues(&types.AttributeValueMemberM{Value: got}, &types.AttributeValueMemberM{Value: it}) {
			t.Errorf("Get finds %v, %v; want %v", got, err, it)
		}
		if libtest.Text(it["customer"]) == "acme" {
			want++
		}
	}
	var last types.AttributeValue
	for it, err := range orders.Query(t.Context(), "acme", table.Span{}, now) {
		require.NoError(t, err)
		if last != nil && dynamo.CompareValues(last, it["placed"]) >= 0 {
			t.Errorf("%v follows %v", it["placed"], last)
		}
		last = it["placed"]
		want--
	}
	if want != 0 {
		t.Errorf("Query misses %d items", want)
	}
}

// stored returns how many items have the plain name acme or beta.
func stored(t *testing.T, client *dynamodb.Client, name string) (n int) {
	t.Helper()
	for _, plain := range []string{"acme", "beta"} {
		out, err := client.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &name, KeyConditionExpression: aws.String("customer = :c"), ExpressionAttributeValues: item{":c": libtest.Str(plain)},
		})
		require.NoError(t, err)
		n += len(out.Items)
	}
	return n
}
