package erase

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
)

// firstPeriod is before the first release: no board has an older period.
var firstPeriod = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// Player deletes one player's entries on a board in all periods that there ever were,
// and waits until no top has the player. The board's other entries stay. It reads one
// entry for each day and week since 2025, a read unit each.
func (e *Eraser) Player(ctx context.Context, name, player string) (*Report, error) {
	t := e.task(schema.BaseKey{Type: schema.Board, Name: name})
	if err := t.player(ctx, player); err != nil {
		return &t.report, fmt.Errorf("deleting player %q of board %q: %w", player, name, err)
	}
	return &t.report, nil
}

func (t *task) player(ctx context.Context, player string) error {
	var tops []string
	for labels := range slices.Chunk(t.labels(), maxBatchGet) {
		found, err := t.entries(ctx, labels, player)
		if err != nil {
			return err
		}
		for _, k := range found {
			_, label, _, _ := schema.ParseEntryKey(k.pk, k.sk)
			tops = append(tops, schema.BoardRollupKey(t.base.Name, label))
			t.deleted(Entries, 1)
			if t.o.DryRun {
				continue
			}
			if _, err := t.remove(ctx, t.o.Names.Items, k.pk, k.sk); err != nil {
				return err
			}
		}
		t.o.Progress(len(labels))
	}
	if t.o.DryRun {
		return nil
	}
	return t.awaitTops(ctx, tops, player)
}

// labels lists all periods up to tomorrow's, each once.
func (t *task) labels() (list []string) {
	seen := map[string]bool{}
	for at := firstPeriod; at.Before(t.o.Now().Add(24 * time.Hour)); at = at.AddDate(0, 0, 1) {
		for _, p := range []schema.Period{schema.AllTime, schema.Weekly, schema.Daily} {
			if label := p.Label(at); !seen[label] {
				seen[label] = true
				list = append(list, label)
			}
		}
	}
	return list
}

const maxBatchGet = 100

// entries finds which of a player's entries there are, by consistent reads.
func (t *task) entries(ctx context.Context, labels []string, player string) (found []key, err error) {
	var keys []item
	for _, label := range labels {
		keys = append(keys, itemKey(schema.EntryKey(t.base.Name, label, player)))
	}
	consistent := true
	projection := "pk, sk"
	left := types.KeysAndAttributes{Keys: keys, ConsistentRead: &consistent, ProjectionExpression: &projection}
	for len(left.Keys) > 0 {
		out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{t.o.Names.Items: left},
		})
		if err != nil {
			return nil, fmt.Errorf("reading entries: %w", err)
		}
		for _, it := range out.Responses[t.o.Names.Items] {
			found = append(found, key{textOf(it, schema.PK), textOf(it, schema.SK)})
		}
		if left = out.UnprocessedKeys[t.o.Names.Items]; len(left.Keys) > 0 {
			if err := pause(ctx, t.o.Poll); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// awaitTops waits until the aggregator has folded the removals.
func (t *task) awaitTops(ctx context.Context, tops []string, player string) error {
	for deadline := t.o.Now().Add(t.o.Wait); len(tops) > 0; {
		there, err := t.holds(ctx, tops[0], player)
		switch {
		case err != nil:
			return err
		case !there:
			tops = tops[1:]
			continue
		case !t.o.Now().Before(deadline):
			t.left("the top of %q still has the player: it is not folded yet, or a score came meanwhile", tops[0])
			tops = tops[1:]
			continue
		}
		if err := pause(ctx, t.o.Poll); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) holds(ctx context.Context, pk, player string) (bool, error) {
	it, err := t.get(ctx, t.o.Names.Rollups, pk, schema.TopSK)
	if err != nil || len(it) == 0 {
		return false, err
	}
	top, err := board.StoredTop(it)
	if err != nil {
		return false, fmt.Errorf("the top of %q: %w", pk, err)
	}
	return top.Holds(player), nil
}
