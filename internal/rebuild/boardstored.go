package rebuild

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// storedSummaries is what the rollups table stores for a board's period.
type storedSummaries struct {
	fragments     []parts.Part[parts.Histogram]
	sum           parts.Histogram
	damage        error      // why a fragment can't be read
	rowsNoted     bool       // rows of the index are noted to be moved
	topItem       item       // the top's item; empty if there is none
	top           *parts.Top // nil if there is none, or it has expired or can't be read
	unreadableTop error      // why the top can't be read
	expires       int64      // earliest expiry of a fragment or the top, Unix seconds; 0 if none expires
}

// readStored reads the notes of rows, and then the histogram and the top.
func (p *period) readStored(ctx context.Context) (s *storedSummaries, err error) {
	s = &storedSummaries{}
	// The notes come first: if one is deleted meanwhile, its rows were moved before.
	if s.rowsNoted, err = p.rowsNoted(ctx); err != nil {
		return nil, err
	}
	if s.fragments, err = p.cells.Read(ctx, p.Key()); err != nil {
		return nil, err
	}
	s.sum, s.damage = p.cells.Sum(s.fragments), parts.Damage(s.fragments)
	for _, part := range s.fragments {
		if !part.Emptied() {
			s.expires = sooner(s.expires, part.ExpiresAt)
		}
	}
	if s.topItem, err = dynamo.Get(ctx, p.client, p.o.Names.Rollups, p.PK(), schema.TopSK); err != nil {
		return nil, fmt.Errorf("reading the top %q: %w", p.PK(), err)
	}
	expires, _ := dynamo.Whole(s.topItem, schema.ExpiresAt) // 0 for never
	s.expires = sooner(s.expires, expires)
	if len(s.topItem) == 0 || dynamo.Expired(s.topItem, p.o.Now()) {
		return s, nil
	}
	s.top, s.unreadableTop = parts.StoredTop(s.topItem)
	if s.unreadableTop == nil && dynamo.Digits(s.topItem, schema.TopVersion) == "" {
		s.top, s.unreadableTop = nil, errors.New("it has no version")
	}
	return s, nil
}

// rowsNoted reports whether rows of the period are noted to be moved.
func (p *period) rowsNoted(ctx context.Context) (bool, error) {
	pk, prefix := schema.RowsNoteKey(p.Board, p.Label, "", "")
	in := &dynamodb.QueryInput{
		TableName: &p.o.Names.Rollups, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :sk)"),
		ExpressionAttributeValues: item{":pk": dynamo.String(pk), ":sk": dynamo.String(strings.TrimRight(prefix, "#") + "#")},
	}
	for it, err := range dynamo.Items(ctx, p.client, in) {
		if err != nil {
			return false, fmt.Errorf("reading the notes of rows of %q: %w", p.PK(), err)
		}
		if boardPeriod, _ := schema.ParseRowsNote(dynamo.Text(it, schema.SK)); boardPeriod == p.PK() {
			return true, nil
		}
	}
	return false, nil
}

// sooner returns the earlier of two expiry times in Unix seconds; 0 means no expiry.
func sooner(x, y int64) int64 {
	if x == 0 || y == 0 {
		return max(x, y)
	}
	return min(x, y)
}

// placesToRead returns how many of the first places must be read to compare the top: one more than it has.
func (s *storedSummaries) placesToRead() int {
	if s.top == nil {
		return 1
	}
	return len(s.top.Entries()) + 1
}

// unchanged reports whether nothing was folded or rewritten between two readings.
func (s *storedSummaries) unchanged(other *storedSummaries) bool {
	return reflect.DeepEqual(s.topItem, other.topItem) && parts.Same(s.fragments, other.fragments)
}

// compare returns how the histogram and the top differ from the entries.
func (s *storedSummaries) compare(entries *ranking) (list []Finding) {
	if s.cellsDiffer(entries) {
		f := Finding{State: Wrong, Summary: figuresOfEntries(s.sum.Total()), Items: figuresOfEntries(entries.count), Detail: "the histogram"}
		if s.damage != nil {
			f.State, f.Detail = Unreadable, "the histogram: "+s.damage.Error()
		}
		list = append(list, f)
	}
	if len(entries.outdated) > 0 && !s.rowsNoted {
		list = append(list, Finding{State: Wrong, Detail: display.Several(len(entries.outdated), "row") + " of the index outdated, and not noted to be moved"})
	}
	if why := s.topFault(entries); why != "" {
		f := Finding{State: Wrong, Detail: "the top: " + why}
		if s.unreadableTop != nil {
			f.State = Unreadable
		}
		list = append(list, f)
	}
	return list
}

func (s *storedSummaries) cellsDiffer(entries *ranking) bool {
	return s.damage != nil || !s.sum.Same(entries.cells)
}

// topFault returns what is wrong with the top, or "". A top must hold every place that it covers.
func (s *storedSummaries) topFault(entries *ranking) string {
	switch {
	case s.unreadableTop != nil:
		return s.unreadableTop.Error()
	case s.top == nil && entries.count == 0:
		return ""
	case s.top == nil:
		return "the board has entries and no top"
	}
	held := s.top.Entries()
	for i, e := range held {
		if i >= len(entries.firstPlaces) || e.Place != entries.firstPlaces[i] {
			return fmt.Sprintf("rank %d is another player's, or has another score", i+1)
		}
	}
	if len(entries.firstPlaces) > len(held) && s.top.Covers(entries.firstPlaces[len(held)]) {
		return fmt.Sprintf("it lacks rank %d", len(held)+1)
	}
	return ""
}
