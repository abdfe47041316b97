package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
)

// Sort keys of sessions are between lowest and highest; those of probes are not.
const (
	lowest  = schema.SessionPrefix
	highest = "s$"
)

// Bounds of the concurrent reads of a scan.
const (
	maxQueries = 16     // in flight
	firstRows  = 200    // of the first chunk, over all write shards; each chunk has four times the rows of the last
	maxRows    = 50_000 // of a chunk, over all write shards
	minPage    = 100    // rows of a write shard in a chunk, even if the chunk then has more rows
	maxPage    = 5000   // rows of a write shard in a chunk
)

// scan reads a group's rows in the index, in chunks of ids: it reads a chunk on all write shards before the next chunk.
//
// The write shards are read at different moments. So a row may move from a write shard that is not read yet to one that
// was already read. While rows may move, the scan reads each chunk twice: the second read finds the rows that moved
// during the first.
type scan struct {
	*Reader
	group  string
	now    time.Time
	shards int  // the most write shards that the group ever had
	rows   int  // of the next chunk
	moving bool // the count changed within MaxTTL, so rows of active sessions may move
}

// newScan returns a scan of a group, whose first chunk has this number of rows. It costs 1 RCU, for the shard count.
func (r *Reader) newScan(ctx context.Context, group string, rows int, now time.Time) (*scan, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(r.client, r.shards, group)); err != nil {
		return nil, err
	}
	entry, err := r.shards.Read(ctx, Key(group))
	if err != nil {
		return nil, err
	}
	moving := !entry.Effective().Before(now.Add(-MaxTTL))
	return &scan{Reader: r, group: group, now: now, shards: entry.Most(), rows: rows, moving: moving}, nil
}

// readChunk returns the next active sessions, sorted by id, from the sort key low on. next is the low of the following
// chunk, or "" at the end.
func (s *scan) readChunk(ctx context.Context, low string) (found []Session, next string, err error) {
	found, high, err := s.readShards(ctx, low, highest, true)
	if err == nil && s.moving {
		var again []Session
		again, _, err = s.readShards(ctx, low, high, false)
		found = append(found, again...)
	}
	slices.SortFunc(found, func(a, b Session) int { // by id, and the newest state of a session first
		return cmp.Or(cmp.Compare(a.ID, b.ID), b.Started.Compare(a.Started), b.Ends.Compare(a.Ends))
	})
	if high != highest {
		next = high + "\x00" // the least greater text
	}
	return slices.CompactFunc(found, func(a, b Session) bool { return a.ID == b.ID }), next, err
}

// readShards returns the sessions with sort keys from low to high, both included, on all write shards. If paged, it
// reads at most one page of each. The result has all sessions up to the sort key upTo, and none after it.
func (s *scan) readShards(ctx context.Context, low, high string, paged bool) (all []Session, upTo string, err error) {
	found, ends := make([][]Session, s.shards), make([]string, s.shards)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxQueries)
	for n := range found {
		group.Go(func() (err error) {
			found[n], ends[n], err = s.query(ctx, n, low, high, paged)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, "", err
	}
	upTo = slices.Min(ends)
	all = slices.DeleteFunc(slices.Concat(found...), func(s Session) bool { return lowest+s.ID > upTo })
	return all, upTo, nil
}

// query returns the sessions with sort keys from low to high, both included, on one write shard. If paged, it reads at
// most one page. end is the sort key up to which it has read.
func (s *scan) query(ctx context.Context, n int, low, high string, paged bool) (found []Session, end string, err error) {
	input := &dynamodb.QueryInput{
		TableName: &s.table, IndexName: aws.String(schema.ByGroup), ProjectionExpression: aws.String("sk, started_at, ends_at"),
		KeyConditionExpression: aws.String("session_shard = :shard AND sk BETWEEN :low AND :high"),
		FilterExpression:       aws.String("ends_at > :now"),
		ExpressionAttributeValues: item{
			":shard": dynamo.String(schema.SessionShardKey(s.group, n)), ":low": dynamo.String(low), ":high": dynamo.String(high),
			":now": dynamo.Number(s.now.UnixMilli()),
		},
		Limit: aws.Int32(int32(min(max(s.rows/s.shards, minPage), maxPage))),
	}
	for page, err := range dynamo.Pages(ctx, dynamo.Persistent(s.client), input) {
		if err != nil {
			return nil, "", fmt.Errorf("querying write shard %d: %w", n, err)
		}
		for _, row := range page.Items {
			session, err := s.parseRow(row)
			if err != nil {
				return nil, "", err
			}
			found = append(found, session)
		}
		if paged && len(page.LastEvaluatedKey) > 0 {
			return found, dynamo.Text(page.LastEvaluatedKey, schema.SK), nil
		}
	}
	return found, high, nil
}

// parseRow returns the session of a row of the index.
func (s *scan) parseRow(row item) (Session, error) {
	session := Session{Group: s.group, ID: strings.TrimPrefix(dynamo.Text(row, schema.SK), lowest)}
	return session, errors.Join(session.setTime(row, schema.SessionStarted, &session.Started), session.setTime(row, schema.SessionEnds, &session.Ends))
}
