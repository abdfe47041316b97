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

// deferred returns the turns that left an entry with an outdated row in the index. Later writes of
// such an entry need no further note.
func (s *boardNews) deferred() (list []turn) {
	for _, t := range s.turns {
		if t.is && !t.was {
			list = append(list, t)
		}
	}
	return list
}

// maxRowPlayers bounds the players of a note of rows: one read has all their entries.
const maxRowPlayers = 100

// noteDeferred notes outdated rows, so that the task moves them. A note's key is its first record's
// place in the stream. A redelivery of fewer records adds to the note, or notes moved rows again.
func (f *topFolder) noteDeferred(ctx context.Context, s *boardNews, list []turn, streamShard string) error {
	players := make([]string, len(list))
	for i, t := range list {
		players[i] = t.state.Player
	}
	return NoteRows(ctx, f.client, f.table, s.Period, streamShard, list[0].place, players, f.now())
}

// NoteRows stores in the rollups table that the rows of players in the index are outdated: the task
// moves them. The stream shard and sequence number identify the notes, which only grow. The client
// needs UpdateItem only.
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
			return fmt.Errorf("noting %q: %w", dynamo.Text(key, schema.SK), err)
		}
		sequence += "+" // of the next note
	}
	return nil
}

// Bounds of the moves of one run. A move costs one write unit of the old index partition and one of
// the new: the rate leaves each of them half its throughput.
const (
	maxRowNotes = 100
	rowsPerSec  = 500
)

// moveRows moves the rows of notes, oldest first, and calls end with the outcome of each. Notes of a
// board whose index throttles, and those beyond maxRowNotes, stay for the next run.
func (f *looker) moveRows(ctx context.Context, notes []due, end func(*due, error)) (moved, later int) {
	full := map[parts.Period]bool{}
	for i, n := range notes {
		if full[n.Period] || i-later >= maxRowNotes {
			later++
			continue
		}
		start := time.Now()
		some, err := f.boards.MoveRows(ctx, n.Board, n.Label, n.players, f.now())
		if moved += some; errors.Is(err, shard.ErrThrottled) {
			full[n.Period] = true
			later++
			continue
		}
		end(&n, err)
		dynamo.Pause(ctx, time.Duration(some)*time.Second/rowsPerSec-time.Since(start))
	}
	return moved, later
}
