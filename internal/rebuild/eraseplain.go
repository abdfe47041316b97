package rebuild

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// plainTraces finds and deletes the items of a key whose kind has neither an index nor summaries, such as a limit. The
// types of other kinds embed it, and replace the methods that differ.
type plainTraces struct{ *task }

func (plainTraces) partitionQuery(int) *dynamodb.QueryInput { return nil }

func (p plainTraces) classify(k itemKey) (what Trace, ok bool) {
	parsed, err := schema.ParseKey(k.pk)
	switch {
	case err != nil || parsed.Base != p.base:
		return "", false
	case k.sk == schema.ProbeSK:
		return Others, true
	}
	return Windows, true
}

func (plainTraces) afterDelete(context.Context, Trace, itemKey, item) error { return nil }

func (plainTraces) cleanSummaries(context.Context) error { return nil }

func (plainTraces) deleteLast(context.Context) error { return nil }
