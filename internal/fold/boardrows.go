package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// outdatedRows returns the changes that left an entry's row in the index outdated. While the row is
// outdated, further changes of the entry need no note.
func (s *boardChanges) outdatedRows() (list []entryChange) {
	for _, t := range s.entries {
		if t.isOutdated && !t.wasOutdated {
			list = append(list, t)
		}
	}
	return list
}

// maxRowPlayers bounds the players in a note, so that one read has all their entries.
const maxRowPlayers = 100

// noteOutdated stores that the boards task must move the outdated rows of these changes. The key of a note has the
// stream shard and sequence number of its first record. A redelivery of fewer records adds to the note.
// If the rows were moved meanwhile, it notes them again, which is harmless.
func (f *topFolder) noteOutdated(ctx context.Context, s *boardChanges, outdated []entryChange, streamShard string) error {
	players := make([]string, len(outdated))
	for i, t := range outdated {
		players[i] = t.state.Player
	}
	return NoteRows(ctx, f.client, f.table, s.Period, streamShard, outdated[0].padded, players, f.now())
}

// NoteRows stores in the rollups table that the boards task must move the outdated rows of players in
// the index. The stream shard and sequence number identify the notes, which only get more players. The
// client needs UpdateItem only.
func NoteRows(ctx context.Context, client client.Updater, table string, p parts.Period, streamShard, sequence string, players []string, now time.Time) error {
	slices.Sort(players)
	for some := range slices.Chunk(slices.Compact(players), maxRowPlayers) {
		key := dynamo.Key(schema.RowsNoteKey(p.Board, p.Label, streamShard, sequence))
		_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &table, Key: key, UpdateExpression: aws.String("SET #v = :v, #last = :now, #since = :now ADD #players :players"),
			ExpressionAttributeNames: map[string]string{
				"#v": schema.Version, "#last": schema.NoteLast, "#since": schema.NoteSince, "#players": schema.NotePlayers,
			},
			ExpressionAttributeValues: dynamo.Item{
				":v": dynamo.Number(1), ":now": dynamo.Number(now.UnixMilli()), ":players": &types.AttributeValueMemberSS{Value: some},
			},
		})
		if err != nil {
			return fmt.Errorf("noting the outdated rows %q: %w", dynamo.Text(key, schema.SK), err)
		}
		sequence += "+" // of the next note
	}
	return nil
}

// Bounds of the moves of one run. A move costs a write unit in the old index partition and one in the
// new. The rate leaves each of them half its throughput.
const (
	maxRowNotes = 100
	rowsPerSec  = 500
)

// moveRows moves the rows of notes, oldest first, and calls end with the outcome of each note. If the index throttles a
// board's moves, this note and the board's other notes stay for the next run. So do the notes beyond maxRowNotes. moved is
// the number of rows, later the number of notes that stay.
func (f *recheckTask) moveRows(ctx context.Context, notes []dueNote, end func(*dueNote, error)) (moved, later int) {
	throttled := map[parts.Period]bool{}
	ended := 0
	for _, n := range notes {
		if throttled[n.Period] || ended >= maxRowNotes {
			later++
			continue
		}
		start := time.Now()
		rows, err := f.boards.MoveRows(ctx, n.Board, n.Label, n.players, f.now())
		moved += rows
		if errors.Is(err, shard.ErrThrottled) {
			throttled[n.Period] = true
			later++
			continue
		}
		end(&n, err)
		ended++
		dynamo.Pause(ctx, time.Duration(rows)*time.Second/rowsPerSec-time.Since(start))
	}
	return moved, later
}
