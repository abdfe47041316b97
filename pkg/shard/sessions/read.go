package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ReaderClient has the DynamoDB calls of a Reader.
type ReaderClient interface {
	client.Getter
	client.Querier
}

// Reader is the part of a [Store] that reads.
type Reader struct {
	client ReaderClient
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(db ReaderClient, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: db, table: table, shards: shards}
}

// Get returns a session that is active at now, read strongly consistent, or an error of kind
// ErrNotFound. It costs 1 RCU per 4 KB.
func (r *Reader) Get(ctx context.Context, group, id string, now time.Time) (Session, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(r.client, r.shards, group, id)); err != nil {
		return Session{}, err
	}
	session, err := r.readSession(ctx, group, id)
	if err == nil && !session.active(now) {
		err = shard.ErrNotFound
	}
	if err != nil {
		return Session{}, fmt.Errorf("reading session %q of group %q: %w", id, group, err)
	}
	return session, nil
}

// Active returns the number of a group's sessions that are active at now. It reads the index as List does.
func (r *Reader) Active(ctx context.Context, group string, now time.Time) (n int, err error) {
	for _, err := range r.list(ctx, group, "", maxRows, now) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// List yields a group's sessions that are active at now and whose ids are greater than after. It yields each once, in
// byte order of the ids. They have neither data nor the time of the last renewal. List ends with the first error. To
// read a group in pages, pass the last id of the page before.
//
// List reads the index, which is eventually consistent: sessions that were put or ended within about
// the last second may appear in their old state. A session that is active during the whole read
// appears once, even if its row moves. A session that starts or ends during the read may be missing.
func (r *Reader) List(ctx context.Context, group, after string, now time.Time) iter.Seq2[Session, error] {
	return r.list(ctx, group, after, firstRows, now)
}

// list is List. Its first chunk has this number of rows.
func (r *Reader) list(ctx context.Context, group, after string, rows int, now time.Time) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		fail := func(err error) { yield(Session{}, fmt.Errorf("reading sessions of group %q: %w", group, err)) }
		scan, err := r.newScan(ctx, group, rows, now)
		if err != nil {
			fail(err)
			return
		}
		for low := startAfter(after); low != ""; scan.rows = min(4*scan.rows, maxRows) {
			found, next, err := scan.readChunk(ctx, low)
			if err != nil {
				fail(err)
				return
			}
			for _, session := range found {
				if !yield(session, nil) {
					return
				}
			}
			low = next
		}
	}
}

// startAfter returns the least sort key of the sessions with ids greater than id; all ids are greater than "".
func startAfter(id string) string {
	if id == "" {
		return lowest
	}
	return lowest + id + "\x00"
}

// readSession returns a session, active or not, read strongly consistent. A session that End ended has only Renewed.
func (r *Reader) readSession(ctx context.Context, group, id string) (session Session, err error) {
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		out, err := r.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &r.table, Key: itemKey(group, id), ConsistentRead: aws.Bool(true)}, dynamo.NoRetry)
		if err != nil {
			return err
		}
		session, err = parseSession(group, id, out.Item)
		return err
	})
	return session, err
}

// active reports whether the session is active at a time. A session without Ends is not.
func (s Session) active(at time.Time) bool { return s.Ends.UnixMilli() > at.UnixMilli() }

type item = map[string]types.AttributeValue

// parseSession returns the session of an item. A session that End ended has only Renewed, and a nil item no times.
func parseSession(group, id string, it item) (Session, error) {
	session := Session{Group: group, ID: id}
	if it[schema.SessionEnds] == nil {
		session.Renewed, _ = dynamo.Millis(it, schema.SessionRenewed)
		return session, nil
	}
	if m, ok := it[schema.SessionData].(*types.AttributeValueMemberM); ok {
		session.Data = m.Value
	}
	return session, errors.Join(
		session.setTime(it, schema.SessionStarted, &session.Started), session.setTime(it, schema.SessionRenewed, &session.Renewed), session.setTime(it, schema.SessionEnds, &session.Ends),
	)
}

// setTime sets a field of the session to the time of an attribute in whole milliseconds.
func (s *Session) setTime(it item, name string, field *time.Time) error {
	at, ok := dynamo.Millis(it, name)
	if !ok {
		return fmt.Errorf("session %q: attribute %s is not a whole number of milliseconds", s.ID, name)
	}
	*field = at
	return nil
}

// millis returns a time with the stored precision.
func millis(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

func itemKey(group, id string) item { return dynamo.Key(schema.SessionKey(group, id)) }
