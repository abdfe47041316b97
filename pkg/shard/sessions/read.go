package sessions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ReaderClient is what a Reader calls of DynamoDB.
type ReaderClient interface {
	dynamo.BatchGetter
	dynamo.Querier
}

// Reader reads what [Sessions] write.
type Reader struct {
	client ReaderClient
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(client ReaderClient, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: client, table: table, shards: shards}
}

// Get returns a session that is active at now, read consistently, or an error of
// kind ErrNotFound; ErrUnavailable also for one that has moved to where this process's
// clock does not reach yet, or keeps moving while it is looked up. It costs a read
// unit for 4 KB of each place: see [Sessions]; twice that for one that has ended within
// two minutes of a move.
func (s *Reader) Get(ctx context.Context, group, id string, now time.Time) (Session, error) {
	p, err := s.places(ctx, group, id, now)
	var held Session
	if err == nil {
		_, held, err = s.look(ctx, p, now)
	}
	switch {
	case errors.Is(err, dynamo.ErrOutrun): // contention is for writes
		err = fmt.Errorf("%w: %v", shard.ErrUnavailable, err)
	case err == nil && held.ID == "":
		err = shard.ErrNotFound
	}
	if err != nil {
		return Session{}, fmt.Errorf("session %q of group %q: %w", id, group, dynamo.Kind(err))
	}
	return held, nil
}

// Active counts a group's sessions that are active at now: see All for what that
// means while they change, and [Sessions] for what it costs. It holds no more in
// memory than a page of each write shard.
func (s *Reader) Active(ctx context.Context, group string, now time.Time) (int, error) {
	n := 0
	scan := sessionScan{Reader: s, group: group, now: now, brief: true}
	for _, err := range scan.sessions(ctx) {
		if err != nil {
			return 0, fmt.Errorf("counting sessions of group %q: %w", group, err)
		}
		n++
	}
	return n, nil
}

// All yields a group's sessions that are active at now, in the order of their ids as
// text, by eventually consistent reads of all the write shards that the group had
// within MaxTTL. It ends with the first error.
//
// It is no snapshot, but one that is active from a moment before the reading (what
// replication takes) to its end comes exactly once, also when it moves to another
// write shard meanwhile, if the reading takes less than two minutes, and the call that
// moves it less than half a minute. One that begins or ends meanwhile may come or not.
func (s *Reader) All(ctx context.Context, group string, now time.Time) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		scan := sessionScan{Reader: s, group: group, now: now}
		for one, err := range scan.sessions(ctx) {
			if err != nil {
				err = fmt.Errorf("reading sessions of group %q: %w", group, err)
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// sessionScan reads all write shards of a group, merged in the order of ids, so that
// what is left of one id in several places comes together.
type sessionScan struct {
	*Reader
	group string
	now   time.Time
	brief bool      // without the callers' data
	begin time.Time // of the reading, by this machine's clock
}

// sessions yields each active session once.
func (s *sessionScan) sessions(ctx context.Context) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		s.begin = time.Now()
		merged, err := s.merged(ctx)
		if err != nil {
			yield(Session{}, err)
			return
		}
		var same []dynamo.Item // all of one id
		for {
			it, err := merged.Next(ctx)
			if err != nil {
				yield(Session{}, err)
				return
			}
			if len(same) > 0 && (it == nil || dynamo.Text(it, schema.SK) != dynamo.Text(same[0], schema.SK)) {
				one, ok, err := s.one(ctx, same)
				if (ok || err != nil) && !yield(one, err) || err != nil {
					return
				}
				same = same[:0]
			}
			if it == nil {
				return
			}
			same = append(same, it)
		}
	}
}

// one makes one session of what was found of an id. If that is only traces, of which
// one is fresh, it may have moved behind the reading's back: then it is looked up.
func (s *sessionScan) one(ctx context.Context, same []dynamo.Item) (Session, bool, error) {
	found := make(map[int]dynamo.Item, len(same))
	for i, it := range same {
		found[i] = it
	}
	held, err := newest(s.group, found, s.now)
	if err != nil || held.ID != "" {
		return held, err == nil, err
	}
	if !slices.ContainsFunc(same, s.fresh) {
		return held, false, nil
	}
	id, _ := schema.ParseSessionSortKey(dynamo.Text(same[0], schema.SK))
	at := s.now.Add(time.Since(s.begin)) // the count may have changed since
	held, err = s.Get(ctx, s.group, id, at)
	if errors.Is(err, shard.ErrNotFound) {
		return held, false, nil
	}
	return held, err == nil, err
}

// fresh tells whether a trace may have been left since the reading began, or by a move
// that had just been made then. Where none may, what moved had done so before, and would
// have been found: each move leaves a trace of its own.
func (s *sessionScan) fresh(it dynamo.Item) bool {
	return isTrace(it) && active(it, s.now.Add(traceTime-slowMove))
}

// Bounds of the items that one query reads.
const (
	minSessionPage = 100
	maxSessionPage = 1000
	sessionsHeld   = 50_000 // of all write shards together, where that is more
)

func (s *sessionScan) merged(ctx context.Context) (*dynamo.Merge, error) {
	entry, err := s.shards.Lookup(ctx, sessionsKey(s.group), s.now)
	if err != nil {
		return nil, err
	}
	streams := make([]*dynamo.Stream, entry.Shards(s.now.Add(-MaxTTL-fence), s.now.Add(ahead)))
	page := min(max(sessionsHeld/len(streams), minSessionPage), maxSessionPage)
	for n := range streams {
		streams[n] = s.stream(n, page)
	}
	return dynamo.NewMerge(ctx, streams, false)
}

func (s *sessionScan) stream(n, page int) *dynamo.Stream {
	pk, _ := schema.SessionKey(s.group, "", n)
	input := &dynamodb.QueryInput{
		TableName:              &s.table,
		KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :prefix)"),
		FilterExpression:       aws.String("ends_at > :now"),
		ExpressionAttributeValues: dynamo.Item{
			":pk":     &types.AttributeValueMemberS{Value: pk},
			":prefix": &types.AttributeValueMemberS{Value: schema.SessionPrefix},
			":now":    dynamo.Number(s.now.UnixMilli()),
		},
		Limit: aws.Int32(int32(page)),
	}
	if s.brief {
		input.ProjectionExpression = aws.String("sk, started_at, renewed_at, ends_at, moved")
	}
	return &dynamo.Stream{Client: s.client, Input: input, Sort: schema.SK}
}

// parseSession reads a session's item.
func parseSession(group string, it dynamo.Item) (Session, error) {
	id, ok := schema.ParseSessionSortKey(dynamo.Text(it, schema.SK))
	if !ok {
		return Session{}, fmt.Errorf("%q is not a session's sort key", dynamo.Text(it, schema.SK))
	}
	one := Session{Group: group, ID: id}
	if m, ok := it[schema.SessionData].(*types.AttributeValueMemberM); ok {
		one.Data = m.Value
	}
	for name, into := range map[string]*time.Time{
		schema.SessionStarted: &one.Started, schema.SessionRenewed: &one.Renewed, schema.SessionEnds: &one.Ends,
	} {
		millis, err := dynamo.Integer(it, name)
		if err != nil {
			return Session{}, fmt.Errorf("session %q: %w", id, err)
		}
		*into = time.UnixMilli(millis).UTC()
	}
	return one, nil
}

// active tells whether an item's time is not over; nil is no item.
func active(it dynamo.Item, at time.Time) bool {
	ends, err := dynamo.Integer(it, schema.SessionEnds)
	return err == nil && ends > at.UnixMilli()
}

// isTrace tells whether an item is only what a session left behind.
func isTrace(it dynamo.Item) bool {
	_, moved := it[schema.SessionMoved]
	return moved
}
