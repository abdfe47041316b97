package eventsource

import (
	"context"
	"errors"
	"fmt"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// DynamoDB Local bounds only the number of a page's records, and large records could fill its heap. So the cursor
// requests as many records as would fit in pageBytes if each had the mean size of the last page's.
const (
	firstPage = 100
	pageBytes = 4 << 20
)

// Cursor reads a stream shard, page by page. One goroutine uses it.
type Cursor struct {
	stream   *Stream
	shard    string
	from     Position
	after    string // sequence number of the last record that was read; "" for none
	iterator string // "" if the next call must request one
	ended    bool   // no record follows
	limit    int    // number of records to request from DynamoDB Local
}

// Cursor returns a cursor at a position of a stream shard. It makes no call.
func (s *Stream) Cursor(shard string, from Position) *Cursor {
	return &Cursor{stream: s, shard: shard, from: from, limit: firstPage}
}

// Seek moves to a position.
func (c *Cursor) Seek(to Position) { c.from, c.after, c.iterator, c.ended = to, "", "", false }

// Position returns the position of the next iterator: after the last record that was read, or where reading begins.
func (c *Cursor) Position() Position {
	if c.after != "" {
		return AfterSequence(c.after)
	}
	return c.from
}

// HasRead reports whether Next has returned a record since the cursor was made, or since the last [Cursor.Seek].
func (c *Cursor) HasRead() bool { return c.after != "" }

// Located reports whether the cursor has an iterator.
func (c *Cursor) Located() bool { return c.iterator != "" }

// Locate requests an iterator if the cursor has none. ended means that the stream shard is closed and has no more
// records. An answer without an iterator may be wrong: Locate asks three times, and then lists the stream shards. If
// this stream shard is open, the error is errNotDynamoDB.
func (c *Cursor) Locate(ctx context.Context) (ended bool, err error) {
	if c.iterator != "" || c.ended {
		return c.ended, nil
	}
	for range emptyAnswers {
		if c.iterator, err = c.stream.iterator(ctx, c.shard, c.Position()); err != nil {
			return false, c.handleError(err)
		}
		if c.iterator != "" {
			return false, nil
		}
	}
	if c.ended, err = c.stream.ended(ctx, c.shard); err == nil && !c.ended {
		err = errNotDynamoDB
	}
	if err != nil {
		return false, c.handleError(err)
	}
	return true, nil
}

// Next returns the next page of up to limit records, and advances the cursor. The page refers to the buffer. If the
// page is empty and not closed, the stream shard has no new records yet.
//
// After an error the cursor has not moved. After an error that [IsTransient] call Next again: it replaces an expired
// iterator. After an error that [IsTrimmed] the next records have expired: call [Cursor.Seek].
func (c *Cursor) Next(ctx context.Context, buffer *Buffer, limit int) (page Page, err error) {
	if page.Closed, err = c.Locate(ctx); page.Closed || err != nil {
		return page, err
	}
	if c.stream.IsEngine() {
		limit = min(limit, c.limit)
	}
	batch, page, err := c.stream.getRecords(ctx, c.iterator, limit, buffer)
	if err != nil {
		return Page{}, c.handleError(err)
	}
	n := len(batch.Records)
	if n > 0 {
		c.after = string(batch.Records[n-1].Sequence)
		c.limit = max(1, min(MaxRecords, pageBytes*n/buffer.body.Len()))
	}
	c.iterator = batch.Next
	page.Records, page.Closed, page.Full = batch.Records, batch.Next == "", n == limit
	return page, nil
}

// handleError prepares the cursor for the next call, and returns the error with the stream shard's name.
func (c *Cursor) handleError(err error) error {
	_, expired := errors.AsType[*streamtypes.ExpiredIteratorException](err)
	trimmed := IsTrimmed(err)
	// After a restart, DynamoDB Local may not know an iterator. A new iterator at Latest would skip records.
	unknown := isRejected(err) && (c.HasRead() || c.from != Latest)
	if expired || trimmed || unknown {
		c.iterator = ""
	}
	if isServerFault(err) {
		c.limit = max(1, c.limit/8) // the engine may lack the memory for a page
	}
	// In DynamoDB Local the iterator of an empty stream shard may begin at a cancelled transaction, which leaves no
	// record. Once a record follows, the iterator counts as trimmed, although no records are lost.
	unread := !c.HasRead() && (c.from == TrimHorizon || c.from == Latest)
	lostNone := trimmed && unread
	if expired || lostNone {
		err = staleError{err}
	}
	return fmt.Errorf("read stream shard %s: %w", c.shard, err)
}

// staleError is the error of an iterator that the next call replaces.
type staleError struct{ error }

func (s staleError) Unwrap() error { return s.error }

// IsStale reports whether the service rejected an iterator, because it expired or because of a fault of DynamoDB Local.
// The next call replaces it.
func IsStale(err error) bool {
	_, ok := errors.AsType[staleError](err)
	return ok
}

// IsTrimmed reports whether the records after the cursor have expired: they are older than a day.
func IsTrimmed(err error) bool {
	_, ok := errors.AsType[*streamtypes.TrimmedDataAccessException](err)
	return ok && !IsStale(err)
}
