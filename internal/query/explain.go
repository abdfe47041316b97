package query

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/memo"
	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/internal/base/throttles/collect"
	"github.com/hotshard/hotshard/internal/httpapi"
)

const (
	minExplain   = time.Minute // shortest time to explain
	explainedFor = time.Minute // how long an answer is cached, because CloudWatch bills each metric that is read
	maxExplained = 64          // cached answers
)

// Explainer answers why requests were throttled. It caches an answer for a minute, and runs equal questions one after
// the other.
type Explainer struct {
	options ExplainOptions
	answers memo.Memo[*explained]
}

// ExplainOptions configure an [Explainer]. Tables, Sources.DynamoDB, Deadline and Now are required.
type ExplainOptions struct {
	collect.Sources
	Tables       []string // names of the tables that are explained
	PartitionWCU float64  // a partition's limit; 0 for AWS's
	Deadline     time.Duration
	Now          func() time.Time
}

// explained is the cached answer to one question.
type explained struct {
	working chan struct{} // a lock: has a value while a caller uses the answer
	at      time.Time
	report  throttles.Report
}

// NewExplainer returns an Explainer.
func NewExplainer(o ExplainOptions) *Explainer {
	return &Explainer{o, memo.New[*explained](maxExplained)}
}

// ExplainRoutes registers the call of an Explainer.
func ExplainRoutes(e *Explainer) httpapi.Routes {
	return func(api *httpapi.API) {
		get(calls{api, e.options.Deadline, e.options.Now}, httpapi.ForOperators, "/v1/explain", "explain-throttles", "Explain why requests were throttled",
			"Returns DynamoDB's reasons for throttled requests, their keys, and the cure for each. It reads descriptions of the tables, CloudWatch metrics, Contributor Insights and the heat. An answer is up to a minute old.", e.explain)
	}
}

type explainInput struct {
	Since httpapi.DurationText `query:"since" default:"15m" doc:"How far back to look, 1m to 24h"`
	Table string               `query:"table" maxLength:"255" doc:"Only this table; its name may lack the deployment's prefix. Default: all tables"`
	Index string               `query:"index" maxLength:"255" doc:"Only this global index"`
}

type explainOutput struct{ Body throttles.Report }

func (e *Explainer) explain(ctx context.Context, in *explainInput, now time.Time) (*explainOutput, error) {
	since, fault := in.Since.Within(minExplain, maxSince, time.Second)
	if fault != "" {
		return nil, httpapi.InvalidAt("query.since", fault, in.Since)
	}
	o := collect.Options{Name: e.tablePattern(), Tables: e.options.Tables, Index: in.Index, From: now.Add(-since).UTC(), To: now.UTC(), PartitionWCU: e.options.PartitionWCU, Deployment: in.Table == ""}
	if in.Table != "" {
		if o.Name = e.findTable(ctx, in.Table, o); o.Name == "" {
			return nil, httpapi.InvalidAt("query.table", "it must be one of "+strings.Join(e.options.Tables, ", "), in.Table)
		}
		o.Tables = []string{o.Name}
	}
	report, err := e.cachedReport(ctx, o, now)
	if _, absent := errors.AsType[collect.NoIndex](err); absent {
		return nil, httpapi.InvalidAt("query.index", "no table has this index", in.Index)
	}
	if err != nil {
		return nil, dynamo.Kind(err)
	}
	return &explainOutput{report}, nil
}

// cachedReport returns the report, which may be up to explainedFor old.
func (e *Explainer) cachedReport(ctx context.Context, o collect.Options, now time.Time) (throttles.Report, error) {
	question := strings.Join([]string{o.Name, o.Index, o.To.Sub(o.From).String()}, "\x00")
	answer := e.answers.GetOr(question, func() *explained { return &explained{working: make(chan struct{}, 1)} })
	select {
	case answer.working <- struct{}{}:
		defer func() { <-answer.working }()
	case <-ctx.Done():
		return throttles.Report{}, ctx.Err()
	}
	if age := now.Sub(answer.at); age >= 0 && age < explainedFor {
		return answer.report, nil
	}
	report, err := collect.Run(ctx, e.options.Sources, o)
	if err == nil {
		answer.at, answer.report = now, report
	}
	return report, err
}

// findTable returns the table with this name, which may lack the tables' common prefix. It returns "" if there is none.
func (e *Explainer) findTable(ctx context.Context, name string, o collect.Options) string {
	for _, t := range e.options.Tables {
		if t == name || t == e.prefix()+name {
			return t
		}
	}
	if e.options.Watched == nil {
		return ""
	}
	if watched, err := e.options.Watched(ctx, o.From, o.To); err == nil && slices.Contains(watched, name) {
		return name
	}
	return ""
}

// tablePattern returns the name of the only table, or else the tables' common prefix and "*".
func (e *Explainer) tablePattern() string {
	if len(e.options.Tables) == 1 {
		return e.options.Tables[0]
	}
	return e.prefix() + "*"
}

// prefix returns the longest common prefix of the tables' names.
func (e *Explainer) prefix() string {
	prefix := e.options.Tables[0]
	for _, t := range e.options.Tables {
		for !strings.HasPrefix(t, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix
}
