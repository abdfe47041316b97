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

// outdatedRows returns the changes after which an entry's row in the index became outdated. Later changes of the entry need
// no note, since the row is noted already.
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

// noteOutdated stores that the boards task must move the outdated rows of these changes. The note's key has the sequence
// number of the first of them. So a redelivery stores the same note again or, if the redelivery begins after that change,
// a second note. Both are harmless, even if the rows were moved meanwhile.
func (f *topFolder) noteOutdated(ctx context.Context, s *boardChanges, outdated []entryChange, streamShard string) error {
	players := make([]string, len(outdated))
	for i, t := range outdated {
		players[i] = t.state.Player
	}
	return NoteRows(ctx, f.client, f.table, s.Period, streamShard, outdated[0].paddedSequence, players, f.now())
}

// NoteRows stores in the rollups table that the boards task must move the outdated rows of players in the index. It
// adds the first 100 players to the note with this stream shard and sequence number, and the rest to notes that sort
// after it. It sorts players. The client needs UpdateItem only.
func NoteRows(ctx context.Context, client client.Updater, table string, p parts.Period, streamShard, sequence string, players []string, now time.Time) error {
	slices.Sort(players)
	for chunk := range slices.Chunk(slices.Compact(players), maxRowPlayers) {
		key := dynamo.Key(schema.RowsNoteKey(p.Board, p.Label, streamShard, sequence))
		_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &table, Key: key, UpdateExpression: aws.String("SET #v = :v, #last = :now, #since = :now ADD #players :players"),
			ExpressionAttributeNames: map[string]string{
				"#v": schema.Version, "#last": schema.NoteLast, "#since": schema.NoteSince, "#players": schema.NotePlayers,
			},
			ExpressionAttributeValues: dynamo.Item{
				":v": dynamo.Number(1), ":now": dynamo.Number(now.UnixMilli()), ":players": &types.AttributeValueMemberSS{Value: chunk},
			},
		})
		if err != nil {
			return fmt.Errorf("storing the note %q of outdated rows: %w", dynamo.Text(key, schema.SK), err)
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

// moveRows moves the rows of notes, in their order, and calls end with the outcome of each note that it handled. Notes
// beyond maxRowNotes stay for the next run. So do a board period's notes if the index throttles its moves. moved is the
// number of rows, later the number of notes that stay.
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
