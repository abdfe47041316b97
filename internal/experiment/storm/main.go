// Command storm measures how callers fare when one key is offered more than a
// partition takes: with a fixed shard count, with one that grows by one, and with
// hotshard's own control. It writes what it measured, and charts of it, to a
// folder:
//
//	go run ./internal/experiment/storm docs/performance
//
// With a text after the folder it runs only the storms whose names begin with it,
// and writes no files.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 && len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: storm FOLDER [NAME]")
		os.Exit(2)
	}
	only := strings.Join(os.Args[2:], "")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1], only); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder, only string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var results []result
	for _, s := range scenarios {
		if !strings.HasPrefix(s.Name, only) {
			continue
		}
		r, err := s.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		r.print(os.Stdout)
		results = append(results, r)
	}
	if only != "" {
		return nil
	}
	text, err := json.MarshalIndent(results, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "storm.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return draw(filepath.Join(folder, "storm.svg"), results)
}
