package fold

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// noteRecheck stores that the boards task must recheck a top. After a board's size was raised, folds use the old size for
// some seconds, and only a recheck extends the top. Until then readers see that the top is short.
func (f *topFolder) noteRecheck(ctx context.Context, s *boardChanges) error {
	return NoteBoard(ctx, f.client, f.table, s.Board, s.Label, f.now())
}

// NoteBoard stores in the rollups table that the boards task must recheck the top of a board's period. It keeps a stored
// note with the same or a later time, because other folds may rely on that time. The client needs UpdateItem only.
func NoteBoard(ctx context.Context, client client.Updater, table, name, period string, now time.Time) error {
	key := dynamo.Key(schema.NoteKey(name, period))
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: key, ConditionExpression: aws.String("attribute_not_exists(#last) OR #last < :now"),
		UpdateExpression:          aws.String("SET #v = :v, #last = :now, #since = if_not_exists(#since, :now)"),
		ExpressionAttributeNames:  map[string]string{"#v": schema.Version, "#last": schema.NoteLast, "#since": schema.NoteSince},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": dynamo.Number(1), ":now": dynamo.Number(now.UnixMilli())},
	})
	if _, newer := dynamo.ConditionFailed(err); err != nil && !newer {
		return fmt.Errorf("storing the note that the top %q needs a recheck: %w", dynamo.Text(key, schema.SK), err)
	}
	return nil
}

// dueNote is a stored note, due or not: the boards task must recheck a top, or move rows of the index.
type dueNote struct {
	boardChanges
	key         dynamo.Item
	players     []string // whose rows must be moved; nil for a note of a top
	since, last int64    // Unix milliseconds
}

// readNotes returns the stored notes, at most maxNotes of each partition key. It logs and skips notes that can't be read.
func (f *recheckTask) readNotes(ctx context.Context) (list []dueNote, err error) {
	for _, pk := range schema.NotePartitions() {
		in := &dynamodb.QueryInput{
			TableName: &f.table, KeyConditionExpression: aws.String("pk = :pk"), ConsistentRead: aws.Bool(true),
			ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(pk)},
		}
		read := 0
		for item, err := range dynamo.Items(ctx, f.client, in) {
			if err != nil {
				return nil, err
			}
			if read++; read > maxNotes {
				f.log.Warn("too many notes of boards: the rest waits for another run", "partition", pk, "read", maxNotes)
				break
			}
			n, err := parseNote(item)
			if err != nil {
				f.log.Error("a note of boards can't be read: delete it", "partition", pk, "sort_key", dynamo.Text(item, schema.SK), "error", err)
				continue
			}
			list = append(list, n)
		}
	}
	return list, nil
}

// parseNote returns the note in an item, or an error that names the damaged attribute.
func parseNote(item dynamo.Item) (n dueNote, err error) {
	sk := dynamo.Text(item, schema.SK)
	period := sk
	if rowsPeriod, ok := schema.ParseRowsNote(sk); ok {
		players, _ := item[schema.NotePlayers].(*types.AttributeValueMemberSS)
		if players == nil {
			return n, fmt.Errorf("%q: its %s are not a set of strings", sk, schema.NotePlayers)
		}
		period, n.players = rowsPeriod, players.Value
	}
	target, _ := schema.ParseTarget(period) // the zero Target, of no kind, for other texts
	if schema.TraitsOf(target.Base.Type).Summary != schema.RankingSummary {
		return n, fmt.Errorf("its sort key is %.80q, not a board's period", sk)
	}
	n.Period = parts.Period{Board: target.Base.Name, Label: target.Period}
	n.key = dynamo.Key(dynamo.Text(item, schema.PK), sk)
	var hasSince, hasLast bool
	n.since, hasSince = dynamo.Whole(item, schema.NoteSince)
	n.last, hasLast = dynamo.Whole(item, schema.NoteLast)
	if !hasSince || !hasLast {
		return n, fmt.Errorf("%q: its %s or its %s is not a time", sk, schema.NoteSince, schema.NoteLast)
	}
	return n, nil
}
