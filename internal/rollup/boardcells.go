package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
)

// cellsPart is a stream shard's part of a board's histogram.
type cellsPart struct {
	sequence string
	cells    board.Histogram
}

func (p cellsPart) seq() string { return p.sequence }

// Attributes implements part.
func (p cellsPart) Attributes() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		schema.Version:        &types.AttributeValueMemberN{Value: schema.BoardVersion},
		schema.RollupSequence: &types.AttributeValueMemberS{Value: p.sequence},
		schema.HistogramCells: &types.AttributeValueMemberB{Value: p.cells.Bytes()},
	}
}

func parseCellsPart(item map[string]types.AttributeValue) (p cellsPart, err error) {
	if v, _ := numberIn(item)(schema.Version); v != schema.BoardVersion {
		return p, fmt.Errorf("it has version %.20q, and %s can be read", v, schema.BoardVersion)
	}
	sequence, _ := item[schema.RollupSequence].(*types.AttributeValueMemberS)
	cells, _ := item[schema.HistogramCells].(*types.AttributeValueMemberB)
	if sequence == nil || sequence.Value == "" || cells == nil {
		return p, errors.New("it lacks its seq or its cells")
	}
	p.sequence = sequence.Value
	p.cells, err = board.ParseHistogram(cells.Value)
	return p, err
}

// cellsFolder folds entries' scores into the parts of their boards' histograms. An
// entry that comes, goes or moves is one record, so the guard is that of event
// rollups. Once all records were folded, the parts together count each entry once.
type cellsFolder struct {
	partFolder[cellsPart]
	limit int // cells of a part
}

func newCellsFolder(client Client, settings Settings, now func() time.Time) *cellsFolder {
	weigh := func(p cellsPart) int { return 50 * p.cells.Cells() }
	return &cellsFolder{newPartFolder(client, settings.RollupsTable, now, parseCellsPart, weigh), board.MaxCells}
}

func (f *cellsFolder) fold(ctx context.Context, s *standing, streamShard string) error {
	turns := slices.SortedStableFunc(slices.Values(s.turns), func(x, y turn) int { return cmp.Compare(x.place, y.place) })
	return f.partFolder.fold(ctx, partJob[cellsPart]{
		partKey: partKey{s.pk(), schema.HistogramPrefix + streamShard}, streamShard: streamShard,
		what: "scores", expires: s.lifetime.end,
		advance: func(known cellsPart) (cellsPart, bool) { return known.advance(turns, f.limit) },
	})
}

// advance returns a part after these turns, which are in order; news is false when
// it has them all.
func (p cellsPart) advance(turns []turn, limit int) (next cellsPart, news bool) {
	next = cellsPart{p.sequence, p.cells.Clone()}
	for _, t := range turns {
		if t.place <= next.sequence {
			continue
		}
		if t.from != nil {
			next.cells.AddScore(*t.from, -1)
		}
		if t.to != nil {
			next.cells.AddScore(*t.to, 1)
		}
		next.cells.Limit(limit)
		next.sequence, news = t.place, true
	}
	return next, news
}
