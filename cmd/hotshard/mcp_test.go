package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestExplainMCP checks the tool of explain --mcp over the Model Context Protocol: its schema, its reports and its errors.
func TestExplainMCP(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_CLOUDWATCH", "")
	db := enginetest.Client(t)
	asOwner(t, db)
	names := enginetest.Tables(t, db)
	c := &ExplainCmd{Since: 15 * time.Minute, MCP: true}
	c.TablesPrefix, c.PartitionWCU, c.Endpoint = "hotshard-", awsPartitionWCU, throttledItem(t, db, names.Items, "C#page#0")
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- c.serve(t.Context(), stdio(toServer, fromServer)) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 {
		t.Fatalf("tools %+v, %v; want one", list, err)
	}
	tool := list.Tools[0]
	text, err := json.Marshal(tool.InputSchema)
	var schema struct {
		Properties map[string]struct{ Description string }
		Required   []string
	}
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	if err != nil || tool.Name != "explain_throttles" || !tool.Annotations.ReadOnlyHint || len(schema.Properties) != 6 || len(schema.Required) != 0 || schema.Properties["since"].Description == "" {
		t.Errorf("tool %+v with the schema %s, %v", tool, text, err)
	}
	call := func(arguments map[string]any) (r throttles.Report, printed string, failed bool) {
		t.Helper()
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: arguments})
		if err != nil {
			return r, err.Error(), true
		}
		for _, content := range got.Content {
			printed += content.(*mcp.TextContent).Text
		}
		text, err := json.Marshal(got.StructuredContent)
		if err == nil && !got.IsError {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r, printed, got.IsError
	}
	r, printed, failed := call(map[string]any{"table": names.Items})
	if failed || len(r.Findings) != 1 || r.Findings[0].Keys[0].Key != "C#page#0" || !strings.Contains(printed, "3 throttles.") || !strings.Contains(printed, "cure  Shard C#page#0 over") {
		t.Errorf("a table: %s, %+v", printed, r)
	}
	r, printed, failed = call(map[string]any{"stack": true, "tables_prefix": strings.TrimSuffix(names.Items, "items"), "since": "1h"})
	if failed || len(r.Findings) != 1 || !strings.Contains(printed, "cure  Wait until hotshard adds write shards to counter page, which has 1,") {
		t.Errorf("a deployment: %s, %+v", printed, r)
	}
	for want, arguments := range map[string]map[string]any{
		"want one of --table and --stack": {},
		`since "soon": want a duration`:   {"table": names.Items, "since": "soon"},
		"--since 25h0m0s: want 1m to 24h": {"table": names.Items, "since": "25h"},
		`Table "nowhere" not found at`:    {"table": "nowhere"},
		`no table has an index "none"`:    {"table": names.Items, "index": "none"},
		"endpoint":                        {"table": names.Items, "endpoint": "http://127.0.0.1:1"},
	} {
		if _, printed, failed := call(arguments); !failed || !strings.Contains(printed, want) {
			t.Errorf("%v: %s, want %s", arguments, printed, want)
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve returned %v", err)
	}
}

// TestExplainMCPFlags checks that --mcp excludes --json and --log.
func TestExplainMCPFlags(t *testing.T) {
	for _, flags := range [][]string{{"--json"}, {"--log", "-"}} {
		if code, out, errs := hotshard(t, append([]string{"explain", "--mcp"}, flags...)...); code != exitUsage || !strings.Contains(errs, "--mcp") || out != "" {
			t.Errorf("%v: exit %d with %s %s, want wrong usage of --mcp", flags, code, out, errs)
		}
	}
}
