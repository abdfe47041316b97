package hotkey_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// deployed is a fixture over real tables. Its stream is what the test reads of
// them.
type deployed struct {
	*fixture
	db    *dynamodb.Client
	names schema.Names
	view  *ddb.Map
}

func deploy(t *testing.T, change func(*hotkey.Settings)) *deployed {
	t.Helper()
	d := &deployed{db: enginetest.Client(t)}
	d.names = enginetest.Tables(t, d.db)
	d.keepAll(t)
	d.view = ddb.NewMap(d.db, d.names.ShardMap)
	s := settings()
	s.ItemsTable, s.RollupsTable, s.ShardMapTable = d.names.Items, d.names.Rollups, d.names.ShardMap
	change(&s)
	d.fixture = newFixture(settings())
	deps := d.deps()
	deps.Items, deps.Rollups, deps.Shards = d.db, d.db, insistent{ddb.NewMapChanger(d.db, d.view, ddb.ChangerOptions{})}
	var err error
	if d.handler, err = hotkey.New(s, deps); err != nil {
		t.Fatal(err)
	}
	return d
}

// insistent repeats changes that a busy machine can't make within their second.
type insistent struct{ *ddb.MapChanger }

func (c insistent) Grow(ctx context.Context, key string, count int, note ddb.Note, now time.Time) (ddb.Entry, error) {
	return insist(func() (ddb.Entry, error) { return c.MapChanger.Grow(ctx, key, count, note, now) })
}

func (c insistent) Shrink(ctx context.Context, key string, count int, note ddb.Note, now time.Time) (ddb.Entry, error) {
	return insist(func() (ddb.Entry, error) { return c.MapChanger.Shrink(ctx, key, count, note, now) })
}

func insist(change func() (ddb.Entry, error)) (entry ddb.Entry, err error) {
	for range 20 {
		if entry, err = change(); !errors.Is(err, ddb.ErrUnavailable) {
			break
		}
	}
	return entry, err
}

// keepAll turns TTL off: these tests play in a past whose items the engine would
// take for expired, and remove while they run.
func (d *deployed) keepAll(t *testing.T) {
	t.Helper()
	for _, table := range []string{d.names.Items, d.names.Rollups} {
		_, err := d.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName:               &table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires_at"), Enabled: aws.Bool(false)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// count is a key's newest shard count in the table.
func (d *deployed) count(t *testing.T, key string) int {
	t.Helper()
	entry, err := d.view.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return entry.History.Newest()
}

// beats reads the beats that were put at this time, as the stream would show them.
func (d *deployed) beats(t *testing.T) (found writes) {
	t.Helper()
	for pages := dynamodb.NewScanPaginator(d.db, &dynamodb.ScanInput{TableName: &d.names.Items}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			digits := item["beat"].(*types.AttributeValueMemberN).Value
			if digits == strconv.FormatInt(d.now.UnixMilli(), 10) {
				found = append(found, beatOf(item["pk"].(*types.AttributeValueMemberS).Value, d.now))
			}
		}
	}
	return found
}

// TestOnTheEngine lets one counter grow ahead of throttling, and shrink after a
// quiet period, on real tables. While the handler is not fed, nothing shrinks.
func TestOnTheEngine(t *testing.T) {
	d := deploy(t, func(s *hotkey.Settings) { s.Quiet = time.Minute })
	d.must(t, unwindowed(repeat("C#a#0", 750, 1), 1))
	if n := d.count(t, "C#a"); n != 3 {
		t.Fatalf("grown to %d write shards", n)
	}
	fed := func(second int) bool { return second < 65 || second > 80 }
	for second := 15; second <= 170; second += 5 {
		d.now = start.Add(time.Duration(second) * time.Second)
		d.task(t)
		if beats := d.beats(t); len(beats) == 0 && second < 145 {
			t.Fatalf("no beats at %d s", second)
		} else if fed(second) && len(beats) > 0 {
			d.must(t, unwindowed(beats, 1000+second))
		}
		if n := d.count(t, "C#a"); n != 3 && second < 145 {
			t.Fatalf("shrunk to %d at %d s, with beats missing since 80 s\n%s", n, second, d.logs)
		}
	}
	if n := d.count(t, "C#a"); n != 1 {
		t.Errorf("%d write shards after the quiet period\n%s", n, d.logs)
	}
}

func TestControlOnTheEngine(t *testing.T) {
	for _, control := range []hotkey.Control{hotkey.Observe, hotkey.Off} {
		d := deploy(t, func(s *hotkey.Settings) { s.Control = control })
		d.must(t, unwindowed(append(repeat("C#a#0", 900, 1), seen("C#a", 1, "w", 1000, 0, 5)), 1))
		if n := d.count(t, "C#a"); n != 1 {
			t.Errorf("%s: %d write shards", control, n)
		}
	}
	d := deploy(t, func(*hotkey.Settings) {})
	d.now = start.Add(time.Hour)
	d.must(t, unwindowed(append(repeat("C#a#0", 900, 1), seen("C#a", 1, "w", 1000, 0, 5)), 1))
	if n := d.count(t, "C#a"); n != 1 {
		t.Errorf("a backlog: %d write shards", n)
	}
}
