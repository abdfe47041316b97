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

// kept is what the rollups table stores for a board's period.
type kept struct {
	parts    []parts.Part[parts.Histogram]
	sum      parts.Histogram
	damage   error      // why a fragment can't be read
	rows     bool       // rows of the index are noted to be moved
	stored   item       // the top's item; empty if there is none
	top      *parts.Top // nil if there is none, or it can't be read
	topFault error
	expires  int64 // earliest expiry of the above, Unix seconds; 0 if none expires
}

func (p *period) readKept(ctx context.Context) (k *kept, err error) {
	k = &kept{}
	// Notes of rows are deleted after the rows are moved.
	if k.rows, err = p.rowsNoted(ctx); err != nil {
		return nil, err
	}
	if k.parts, err = p.cells.Read(ctx, p.Key()); err != nil {
		return nil, err
	}
	k.sum, k.damage = p.cells.Sum(k.parts), parts.Damage(k.parts)
	for _, part := range k.parts {
		if !part.Emptied() {
			k.expires = sooner(k.expires, part.ExpiresAt)
		}
	}
	if k.stored, err = dynamo.Get(ctx, p.client, p.o.Names.Rollups, p.PK(), schema.TopSK); err != nil {
		return nil, fmt.Errorf("reading %q: %w", p.PK(), err)
	}
	expires, _ := dynamo.Whole(k.stored, schema.ExpiresAt) // 0 for never
	k.expires = sooner(k.expires, expires)
	if len(k.stored) == 0 || dynamo.Expired(k.stored, p.o.Now()) {
		return k, nil
	}
	if k.top, k.topFault = parts.StoredTop(k.stored); k.topFault == nil && dynamo.Digits(k.stored, schema.TopVersion) == "" {
		k.top, k.topFault = nil, errors.New("it has no version")
	}
	return k, nil
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
		if of, _ := schema.ParseRowsNote(dynamo.Text(it, schema.SK)); of == p.PK() {
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

// places returns how many leading places must be read to judge the top.
func (k *kept) places() int {
	if k.top == nil {
		return 1
	}
	return len(k.top.Entries()) + 1
}

// unchanged reports whether nothing was folded or rewritten between two readings.
func (k *kept) unchanged(other *kept) bool {
	return reflect.DeepEqual(k.stored, other.stored) && parts.Same(k.parts, other.parts)
}

// compare returns how the histogram and the top differ from the entries.
func (k *kept) compare(entries *ranking) (list []Finding) {
	if k.cellsDiffer(entries) {
		f := Finding{State: Wrong, Summary: figuresOfEntries(k.sum.Total()), Items: figuresOfEntries(entries.n), Detail: "the histogram"}
		if k.damage != nil {
			f.State, f.Detail = Unreadable, "the histogram: "+k.damage.Error()
		}
		list = append(list, f)
	}
	if len(entries.late) > 0 && !k.rows {
		list = append(list, Finding{State: Wrong, Detail: "outdated rows in the index, which no task moves, of " + display.Several(len(entries.late), "entry")})
	}
	if why := k.whyTop(entries); why != "" {
		f := Finding{State: Wrong, Detail: "the top: " + why}
		if k.topFault != nil {
			f.State = Unreadable
		}
		list = append(list, f)
	}
	return list
}

func (k *kept) cellsDiffer(entries *ranking) bool {
	return k.damage != nil || !k.sum.Same(entries.cells)
}

// whyTop returns what is wrong with the top, or "". A top must hold every place that it covers.
func (k *kept) whyTop(entries *ranking) string {
	switch {
	case k.topFault != nil:
		return k.topFault.Error()
	case k.top == nil && entries.n == 0:
		return ""
	case k.top == nil:
		return "the board has entries and no top"
	}
	held := k.top.Entries()
	for i, e := range held {
		if i >= len(entries.first) || e.Place != entries.first[i] {
			return fmt.Sprintf("rank %d is another player's, or has another score", i+1)
		}
	}
	if len(entries.first) > len(held) && k.top.Covers(entries.first[len(held)]) {
		return fmt.Sprintf("it lacks rank %d", len(held)+1)
	}
	return ""
}
