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

// Bounds of an explanation's time, and of the cache. CloudWatch bills each metric that is read.
const (
	minExplain   = time.Minute
	explainedFor = time.Minute
	maxExplained = 64
)

// Explainer answers why requests were throttled. An answer is cached for a minute; concurrent callers share the work.
type Explainer struct {
	o       ExplainOptions
	answers memo.Memo[*explained]
}

// ExplainOptions configure an [Explainer]. Tables, Sources.DynamoDB, Deadline and Now are required.
type ExplainOptions struct {
	collect.Sources
	Tables       []string // names of the tables that are explained
	PartitionWCU float64  // 0 is AWS's
	Deadline     time.Duration
	Now          func() time.Time
}

// explained is the answer to one question.
type explained struct {
	working chan struct{} // has a value while a caller collects evidence
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
		get(calls{api, e.o.Deadline, e.o.Now}, httpapi.ForOperators, "/v1/explain", "explain-throttles", "Explain why requests were throttled",
			"Which of DynamoDB's reasons throttled requests, on which keys, and what cures it. It reads descriptions of the tables, CloudWatch's metrics, Contributor Insights and the heat. An answer is up to a minute old.", e.explain)
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
	o := collect.Options{Name: e.name(), Tables: e.o.Tables, Index: in.Index, From: now.Add(-since).UTC(), To: now.UTC(), PartitionWCU: e.o.PartitionWCU, Deployment: in.Table == ""}
	if in.Table != "" {
		if o.Name = e.table(ctx, in.Table, o); o.Name == "" {
			return nil, httpapi.InvalidAt("query.table", "it must be one of "+strings.Join(e.o.Tables, ", "), in.Table)
		}
		o.Tables = []string{o.Name}
	}
	report, err := e.cached(ctx, o, now)
	if _, absent := errors.AsType[collect.NoIndex](err); absent {
		return nil, httpapi.InvalidAt("query.index", "no table has this index", in.Index)
	}
	if err != nil {
		return nil, dynamo.Kind(err)
	}
	return &explainOutput{report}, nil
}

// cached returns the report, which may be up to explainedFor old.
func (e *Explainer) cached(ctx context.Context, o collect.Options, now time.Time) (throttles.Report, error) {
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
	report, err := collect.Run(ctx, e.o.Sources, o)
	if err == nil {
		answer.at, answer.report = now, report
	}
	return report, err
}

// table returns the table of this name or end of a name; "" if there is none.
func (e *Explainer) table(ctx context.Context, name string, o collect.Options) string {
	for _, t := range e.o.Tables {
		if t == name || t == e.prefix()+name {
			return t
		}
	}
	if e.o.Watched == nil {
		return ""
	}
	if watched, err := e.o.Watched(ctx, o.From, o.To); err == nil && slices.Contains(watched, name) {
		return name
	}
	return ""
}

// name returns the name of the table, or a pattern for the names of all tables.
func (e *Explainer) name() string {
	if len(e.o.Tables) == 1 {
		return e.o.Tables[0]
	}
	return e.prefix() + "*"
}

// prefix returns what the tables' names begin with.
func (e *Explainer) prefix() string {
	prefix := e.o.Tables[0]
	for _, t := range e.o.Tables {
		for !strings.HasPrefix(t, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix
}
