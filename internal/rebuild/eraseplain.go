package rebuild

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// plain has the traces of a kind that has neither an index nor summaries, such as limits. The types of
// other kinds embed it, and replace the methods that differ.
type plain struct{ *task }

func (plain) partitionQuery(int) *dynamodb.QueryInput { return nil }

func (p plain) classify(k itemKey) (what Trace, ok bool) {
	parsed, err := schema.ParseKey(k.pk)
	switch {
	case err != nil || parsed.Base != p.base:
		return "", false
	case k.sk == schema.ProbeSK:
		return Others, true
	}
	return Windows, true
}

func (plain) afterDelete(context.Context, Trace, itemKey, item) error { return nil }

func (plain) cleanSummaries(context.Context) error { return nil }

func (plain) deleteLast(context.Context) error { return nil }
