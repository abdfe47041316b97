package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
)

// TestBoardIsRebuilt checks that audit finds, and rebuild repairs, a board with a wrong histogram and no stored top.
func TestBoardIsRebuilt(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.flags = append(d.flags, "--index-lag", "1s")
	d.post("/v1/scores", `{"board":"b","scores":[{"player":"ann","score":5},{"player":"bob","score":7}]}`)
	out, _ := d.run(exitOK, "audit")
	wantText(t, out, "summaries: 1 checked, 1 right")
	var off board.Histogram
	off.Add(5, 3)
	pk, sk := schema.HistogramKey("b", "all", "lost")
	d.damage(d.names.Rollups, pk, sk, "SET v = :v, seq = :seq, cells = :cells", item{
		":v": num(1), ":seq": str("05"), ":cells": &types.AttributeValueMemberB{Value: off.Bytes()},
	})
	d.damage(d.names.Rollups, "L#b#all", "top", "REMOVE places", nil)
	out, err := d.run(exitBad, "audit", "--type", "board", "--name", "b")
	wantText(t, out+err, "│ board │ b    │ all │ unreadable │", "│ board │ b    │ all │ wrong      │ 5 entries │ 2 entries │ the histogram", " summaries are wrong or unknown")
	out, _ = d.run(exitOK, "rebuild", "--type", "board", "--name", "b", "--to", "2026-01-05T00:00:00Z", "--from", "2026-01-04T00:00:00Z")
	wantText(t, out, "wrong, repaired", "the top: ", "summaries: 3 checked, 2 right, 1 repaired")
	d.post("/v1/scores", `{"board":"b","scores":[{"player":"cat","score":6}]}`) // the fold stores the top again
	out, _ = d.run(exitOK, "audit")
	wantText(t, out, "summaries: 1 checked, 1 right")
}
