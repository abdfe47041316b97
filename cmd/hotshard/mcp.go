package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotshard/hotshard/internal/tool/explain"
)

// question is the input of the tool explain_throttles. Its fields are flags of the command. An agent can't set
// --endpoint, which would get signed requests, nor --log, which reads a file.
type question struct {
	Table        string `json:"table,omitempty" jsonschema:"a table's name"`
	Stack        bool   `json:"stack,omitempty" jsonschema:"instead of table: the tables of a deployment of hotshard"`
	TablesPrefix string `json:"tables_prefix,omitempty" jsonschema:"with stack: prefix of its tables' names; hotshard- by default"`
	Region       string `json:"region,omitempty" jsonschema:"AWS Region; the environment's by default"`
	Index        string `json:"index,omitempty" jsonschema:"only this global index"`
	Since        string `json:"since,omitempty" jsonschema:"how far back to look, 1m to 24h; 15m by default"`
}

// serve answers an agent over a transport until the agent closes it.
func (c *ExplainCmd) serve(ctx context.Context, transport mcp.Transport) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "hotshard", Version: thisVersion().Version}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name: "explain_throttles", Title: "Why was a DynamoDB table throttled?",
		Description: "Reports which of DynamoDB's reasons throttled a table's requests, on which keys, and what cures it. " +
			"It reads descriptions of the table, CloudWatch's metrics, Contributor Insights and the table's stream, and changes nothing. Where a permission is missing, it names the permission, and the reason is unknown.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
	}, func(ctx context.Context, _ *mcp.CallToolRequest, q question) (*mcp.CallToolResult, any, error) {
		return c.answer(ctx, q)
	})
	return server.Run(ctx, transport)
}

// answer returns a report as text and as JSON.
func (c *ExplainCmd) answer(ctx context.Context, q question) (*mcp.CallToolResult, any, error) {
	one, err := c.with(q)
	if err != nil {
		return nil, nil, err
	}
	report, err := one.report(ctx)
	if err != nil {
		return nil, nil, err
	}
	var text strings.Builder
	if err := explain.Print(&text, report); err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.String()}}}, report, nil
}

// with returns the command with a question's fields in place of the flags.
func (c *ExplainCmd) with(q question) (*ExplainCmd, error) {
	one := *c
	one.MCP = false
	if q.Table != "" || q.Stack {
		one.Table, one.Stack = q.Table, q.Stack
	}
	one.TablesPrefix, one.Region, one.Index = cmp.Or(q.TablesPrefix, c.TablesPrefix), cmp.Or(q.Region, c.Region), cmp.Or(q.Index, c.Index)
	if q.Since != "" {
		since, err := time.ParseDuration(q.Since)
		if err != nil {
			return nil, fmt.Errorf("since %.40q: want a duration such as 15m", q.Since)
		}
		one.Since = since
	}
	return &one, one.Validate()
}

// stdio is the transport over the standard input and output.
func stdio(in io.ReadCloser, out io.Writer) mcp.Transport {
	return &mcp.IOTransport{Reader: in, Writer: unclosed{out}}
}

// unclosed is a writer that can't be closed, so that the program can print until its end.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
