package fold

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// oneNote is a client that returns the same note for every partition.
type oneNote struct {
	Client
	item map[string]types.AttributeValue
}

func (c oneNote) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{Items: []map[string]types.AttributeValue{c.item}}, nil
}

// TestForeignNoteIsLoggedOnce checks that only the first run of the task logs a note that it can't parse.
func TestForeignNoteIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	client := oneNote{item: map[string]types.AttributeValue{"sk": &types.AttributeValueMemberS{Value: "foreign"}}}
	now := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 30, 0, time.UTC) }
	f := newRecheckTask(newTopFolder(client, Settings{RollupsTable: "r", BoardRecheck: time.Minute}, nil, now, slog.New(slog.NewTextHandler(&log, nil))))
	for range 3 {
		if answer, err := f.run(t.Context()); err != nil || answer != (recheckAnswer{}) {
			t.Fatalf("the task answered %+v, %v; want nothing done", answer, err)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "sort_key=foreign") {
		t.Errorf("%d lines, want one with the note's sort key: %s", lines, log.String())
	}
}
