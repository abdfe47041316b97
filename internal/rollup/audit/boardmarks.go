package audit

import (
	"context"
	"fmt"

	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/internal/schema"
)

// maxOwnMarks bounds the marks beside entries that there are; all of a board have some
// that has no more players than this.
const maxOwnMarks = 1024

// maxSortKey is the longest sort key, in bytes: DynamoDB's quota.
const maxSortKey = 1024

// Settle proves that all writes of a board's entries before it are folded, those of all
// periods, or says why that is not so. The stream is the table's: marks in one period
// come by all stream shards.
func (a *Auditor) Settle(ctx context.Context, name string) (why string, err error) {
	_, why, err = a.settleBoard(ctx, standing{name, boards.AllTime.Label(a.o.Now())}, nil)
	return why, err
}

// settleBoard proves that all writes of a board's entries before it are folded, or
// says why that is not so. Floors are those of settle.
//
// Entries are spread over the table by the hash of their partition keys. A mark beside
// an entry comes by the same stream shard. For entries that are gone, and those beyond
// maxOwnMarks, there are as many marks beside players that are made up that no stream
// shard is likely to have got none.
func (a *Auditor) settleBoard(ctx context.Context, s standing, players []string) (floors map[string]string, why string, err error) {
	f := &fence{a: a, id: ulid.Make().String()}
	defer f.remove(ctx)
	for _, player := range players[:min(len(players), maxOwnMarks)] {
		f.beside(s, player)
	}
	made, from := 0, 0
	for want := edgeMarks; made < want; want = shardMarks * f.streamShards() {
		if want > maxMarks {
			return nil, fmt.Sprintf("it would take more than %d marks", maxMarks), nil
		}
		for ; made < want; made++ {
			f.beside(s, ulid.Make().String())
		}
		if err := f.put(ctx, f.marks[from:]); err != nil {
			return nil, "", err
		}
		if why, err := f.await(ctx, f.marks[from:]); why != "" || err != nil {
			return nil, why, err
		}
		from = len(f.marks)
	}
	return f.floors(), "", nil
}

// streamShards is how many of them marks came by.
func (f *fence) streamShards() int {
	seen := map[string]bool{}
	for _, m := range f.marks {
		seen[m.shard] = true
	}
	return len(seen)
}

// beside adds a mark at the place of a player's entry, if there can be one.
func (f *fence) beside(s standing, player string) {
	pk, _ := schema.EntryKey(s.board, s.period, player)
	sk := schema.BoardMarkSK(f.a.o.Now(), f.id, len(f.marks))
	if _, ack := schema.AckKey(f.id, pk, sk); len(ack) <= maxSortKey {
		f.marks = append(f.marks, &mark{pk: pk, sk: sk})
	}
}
