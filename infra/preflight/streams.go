package preflight

import (
	"context"
	"errors"

	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// streamShards compares the open and the expected stream shards with the concurrency of the functions that read them.
func (l *checker) streamShards(ctx context.Context) {
	const what = "stream shards"
	open, err := l.openStreamShards(ctx)
	if err != nil {
		l.notChecked(what, err)
		return
	}
	expected := max(open, l.StreamShards)
	most := int(plan.FullShare * float64(l.StreamConcurrency()))
	switch {
	case expected > most:
		l.addFinding(Warn, "%s: %d are open and streamShards is %d, and hotkeys or aggregator may run %d at a time: set hotkeysConcurrency=%d and aggregatorConcurrency=%[5]d, or summaries lag",
			what, open, l.StreamShards, l.StreamConcurrency(), plan.StreamConcurrency(expected))
	case open > l.StreamShards && plan.BatchingWindow(open) > l.BatchingWindow:
		l.addFinding(Warn, "%s: %d are open, and streamShards is %d: set streamShards=%[2]d, so that deliveries wait %[4]v for records and functions run less often",
			what, open, l.StreamShards, plan.BatchingWindow(open))
	default:
		l.addFinding(OK, "%s: %d are open, streamShards is %d, and the functions may read %d", what, open, l.StreamShards, l.StreamConcurrency())
	}
}

// openStreamShards returns the number of open stream shards of all tables whose streams are read, 0 before the first
// deployment.
func (l *checker) openStreamShards(ctx context.Context) (open int, err error) {
	streams := []string{l.SourceStreamARN}
	if !l.Attached() {
		if streams, err = l.streams(ctx); err != nil {
			return 0, err
		}
	}
	for _, arn := range streams {
		n, err := l.countOpen(ctx, arn)
		if err != nil {
			return 0, err
		}
		open += n
	}
	return open, nil
}

// sourceMap checks that the shard map of an adopted table exists: the detector does not make it.
func (l *checker) sourceMap(ctx context.Context) {
	if !l.Adopted() {
		return
	}
	const what = "shard map of the adopted table"
	var answer struct{}
	err := l.Calls.JSON(ctx, "dynamodb:DescribeTable", "DynamoDB_20120810", map[string]string{"TableName": l.Hotkeys.SourceMap}, &answer)
	switch {
	case awscall.Code(err) == "ResourceNotFoundException":
		l.addFinding(Fail, "%s: there is no table %s in this account and Region: set sourceMap to the table that the programs pass to shardmap.New", what, l.Hotkeys.SourceMap)
	case err != nil:
		l.notChecked(what, err)
	default:
		l.addFinding(OK, "%s: %s exists", what, l.Hotkeys.SourceMap)
	}
}

// streams returns the ARNs of the deployed tables' streams.
func (l *checker) streams(ctx context.Context) (arns []string, err error) {
	for _, t := range schema.Tables(l.Names()) {
		if !t.Stream || l.stack == "" {
			continue
		}
		var answer struct {
			Table struct{ LatestStreamArn string }
		}
		err := l.Calls.JSON(ctx, "dynamodb:DescribeTable", "DynamoDB_20120810", map[string]string{"TableName": t.Name}, &answer)
		switch {
		case awscall.Code(err) == "ResourceNotFoundException":
		case err != nil:
			return nil, err
		case answer.Table.LatestStreamArn != "":
			arns = append(arns, answer.Table.LatestStreamArn)
		}
	}
	return arns, nil
}

// maxPages is the maximum of pages of a stream's description, each with up to 100 stream shards.
const maxPages = 1000

func (l *checker) countOpen(ctx context.Context, arn string) (open int, err error) {
	in := map[string]string{"StreamArn": arn}
	for range maxPages {
		var answer struct {
			StreamDescription struct {
				Shards []struct {
					SequenceNumberRange struct{ EndingSequenceNumber string }
				}
				LastEvaluatedShardID string `json:"LastEvaluatedShardId"`
			}
		}
		if err := l.Calls.JSON(ctx, "dynamodb:DescribeStream", "DynamoDBStreams_20120810", in, &answer); err != nil {
			return 0, err
		}
		for _, s := range answer.StreamDescription.Shards {
			if s.SequenceNumberRange.EndingSequenceNumber == "" {
				open++
			}
		}
		if answer.StreamDescription.LastEvaluatedShardID == "" {
			return open, nil
		}
		in["ExclusiveStartShardId"] = answer.StreamDescription.LastEvaluatedShardID
	}
	return 0, errors.New("the stream has too many stream shards to count")
}
