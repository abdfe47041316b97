package rollup

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/histogram"
	"github.com/hotshard/hotshard/internal/schema"
)

// cellsPart is a stream shard's part of a board's histogram.
type cellsPart struct{ histogram.Part }

func (p cellsPart) seq() string { return p.Sequence }

func parseCellsPart(item map[string]types.AttributeValue) (cellsPart, error) {
	p, err := histogram.Parse(item)
	return cellsPart{p}, err
}

// cellsFolder folds entries' scores into the parts of their boards' histograms. An
// entry that comes, goes or moves is one record, so the guard is that of event
// rollups. Once all records were folded, the parts together count each entry once.
type cellsFolder struct {
	partFolder[cellsPart]
	limit int // cells of a part
}

func newCellsFolder(client Client, settings Settings, now func() time.Time) *cellsFolder {
	weigh := func(p cellsPart) int { return 50 * p.Cells.Cells() }
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
	next.Sequence, next.Cells = p.Sequence, p.Cells.Clone()
	for _, t := range turns {
		if t.place <= next.Sequence {
			continue
		}
		if t.from != nil {
			next.Cells.AddScore(*t.from, -1)
		}
		if t.to != nil {
			next.Cells.AddScore(*t.to, 1)
		}
		next.Cells.Limit(limit)
		next.Sequence, news = t.place, true
	}
	return next, news
}
