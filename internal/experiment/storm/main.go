// Command storm measures how callers fare when one key is offered more than a
// partition takes: with a fixed shard count, with one that grows by one, and with
// hotshard's own control. It writes what it measured, and charts of it, to a
// folder:
//
//	go run ./internal/experiment/storm docs/performance
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: storm FOLDER")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var results []result
	for _, s := range scenarios {
		r, err := s.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		r.print(os.Stdout)
		results = append(results, r)
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
