package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
)

// ShardsCmd has the commands of hotshard shards.
type ShardsCmd struct {
	List   ShardsListCmd   `cmd:"" help:"List every key that ever had more than one write shard."`
	Get    ShardsGetCmd    `cmd:"" help:"Show a key's write shards and their history."`
	Set    ShardsSetCmd    `cmd:"" help:"Pin a key's number of write shards ahead of a known peak, or unpin it."`
	Spread ShardsSpreadCmd `cmd:"" help:"Measure how evenly a key uses its write shards."`
}

// baseKey names a base key on the command line.
type baseKey struct {
	Type string `required:"" enum:"${kinds}" placeholder:"TYPE" help:"${kinds_text}."`
	Name string `required:"" help:"Name of the key, such as page/home."`
}

// shardsPath returns the path and query of the API's call for the key's shard count.
func (k baseKey) shardsPath() string {
	return "/v1/shards?" + url.Values{"type": {k.Type}, "name": {k.Name}}.Encode()
}

// ShardsListCmd is hotshard shards list, which prints the shard map.
type ShardsListCmd struct{ apiFlags }

// Run prints the shard map.
func (c *ShardsListCmd) Run(ctx context.Context, std streams) error {
	var answer struct {
		Keys []httpapi.ShardCount `json:"keys"`
	}
	if err := c.callAPI(ctx, http.MethodGet, "/v1/shards", nil, &answer); err != nil {
		return err
	}
	return c.printAnswer(std.out, answer, func() *textTable {
		t := newTable("type", "name", "shards", "max", "pinned", "since")
		for _, k := range answer.Keys {
			since := ""
			if n := len(k.History); n > 0 {
				since = k.History[n-1].Time
			}
			t.Row(k.Type, nameCell(k.Name), k.Shards, k.Max, k.Pinned, since)
		}
		return t
	})
}

// ShardsGetCmd is hotshard shards get, which prints a key's shard count.
type ShardsGetCmd struct {
	apiFlags
	baseKey
}

// Run prints a base key's shard count.
func (c *ShardsGetCmd) Run(ctx context.Context, std streams) error {
	var answer httpapi.ShardCount
	if err := c.callAPI(ctx, http.MethodGet, c.shardsPath(), nil, &answer); err != nil {
		return err
	}
	return c.printKey(std.out, answer)
}

// ShardsSetCmd is hotshard shards set, which pins or unpins a key's shard count.
type ShardsSetCmd struct {
	apiFlags
	baseKey
	Shards *int `help:"Number of write shards to pin, 1 to 1000."`
	Unpin  bool `help:"Instead of --shards: return control to autoscaling."`
}

// Validate returns an error if the flags are invalid.
func (c *ShardsSetCmd) Validate() error {
	if (c.Shards != nil) == c.Unpin {
		return errors.New("want one of --shards and --unpin")
	}
	if c.Shards != nil && (*c.Shards < 1 || *c.Shards > shard.MaxShards) {
		return fmt.Errorf("--shards %d: want 1 to %d", *c.Shards, shard.MaxShards)
	}
	return c.apiFlags.Validate()
}

// Run pins a base key's shard count, or unpins it.
func (c *ShardsSetCmd) Run(ctx context.Context, std streams) error {
	body := map[string]any{"type": c.Type, "name": c.Name, "shards": c.Shards} // null unpins
	var answer httpapi.ShardCount
	if err := c.callAPI(ctx, http.MethodPut, "/v1/shards", body, &answer); err != nil {
		return err
	}
	return c.printKey(std.out, answer)
}

// printKey prints a key's shard count, and the history of its changes.
func (a apiFlags) printKey(out io.Writer, k httpapi.ShardCount) error {
	if !a.JSON {
		pinned := ""
		if k.Pinned {
			pinned = ", pinned; --unpin returns control to autoscaling"
		}
		fmt.Fprintf(out, "%s %s: %s (most so far: %d)%s\n", k.Type, visible(string(k.Name)), display.Several(k.Shards, "write shard"), k.Max, pinned)
	}
	return a.printAnswer(out, k, func() *textTable {
		t := newTable("time", "write shards", "changed by", "reason")
		for _, c := range k.History {
			t.Row(c.Time, c.Shards, c.By, c.Why)
		}
		return t
	})
}
