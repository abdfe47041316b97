// Package throttle measures the proxy of `hotshard throttle`, a process of its own, side by side with the bare engine:
// latency at a steady rate, throughput, and memory by the number of keys.
//
//	go -C bench run . throttle
package throttle

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

// Program is the experiment.
var Program = rig.Program{
	Name: "throttle", About: "latency, throughput and memory of the proxy of hotshard throttle",
	Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
		var o options
		f.IntVar(&o.rate, "rate", 1000, "calls a second, to the engine and through the proxy in turns")
		f.DurationVar(&o.lasting, "for", 30*time.Second, "time of each of the two at this rate, after a third of it that does not count")
		f.DurationVar(&o.full, "full", 10*time.Second, "time of each of the two with as many calls as 8 workers make")
		f.IntVar(&o.keys, "keys", 1_000_000, "partition keys whose statistics fill the proxy's memory")
		f.Uint64Var(&o.seed, "seed", 1, "of the order of turns")
		before := f.String("serve", "", "be the proxy before this `URL` instead")
		return func(ctx context.Context, r *rig.Run) error {
			if *before != "" {
				return serve(ctx, r, *before)
			}
			return errors.Join(o.compare(ctx, r), o.fill(ctx, r))
		}
	},
}

type options struct {
	rate, keys    int
	lasting, full time.Duration
	seed          uint64
}

const (
	table   = "calls"
	turn    = 2 * time.Second
	workers = 8
	heapMB  = 512 // of the engine
)

var names = []string{"the engine", "through the proxy"}

// compare measures the engine and the proxy before it in turns.
func (o options) compare(ctx context.Context, w io.Writer) (err error) {
	engine, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{HeapMB: heapMB, Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	if err := createTable(ctx, engine.Endpoint()); err != nil {
		return err
	}
	proxy, err := start(ctx, engine.Endpoint())
	if err != nil {
		return err
	}
	defer proxy.stop()
	sides := [2]*side{newSide(engine.Endpoint()), newSide(proxy.url)}
	r := rand.New(rand.NewPCG(o.seed, 0))
	for done := -o.lasting / 3; done < o.lasting; done += turn {
		for _, i := range r.Perm(2) {
			if err := sides[i].pace(ctx, o.rate, turn, done >= 0); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "| %d calls a second: puts, updates and reads of 300 B | p50 | p99 |\n| --- | ---: | ---: |\n", o.rate)
	var at [2][2]float64
	for i, name := range names {
		at[i] = sides[i].quantiles()
		fmt.Fprintf(w, "| %s, %d calls | %.3f ms | %.3f ms |\n", name, len(sides[i].took), at[i][0], at[i][1])
	}
	fmt.Fprintf(w, "| added | %.3f ms | %.3f ms |\n\n", at[1][0]-at[0][0], at[1][1]-at[0][1])
	return o.saturate(ctx, w, sides, r, [3]int{os.Getpid(), engine.PID(), proxy.pid})
}

// saturate has workers make calls without a pause, and prints their number and the CPU time of the processes: the
// callers, the engine and the proxy.
func (o options) saturate(ctx context.Context, w io.Writer, sides [2]*side, r *rand.Rand, processes [3]int) error {
	var calls [2]float64
	var used [2][3]time.Duration
	for range 2 {
		for _, i := range r.Perm(2) {
			before, err := cpuOf(processes)
			if err != nil {
				return err
			}
			n, err := sides[i].saturate(ctx, o.full/2)
			after, failed := cpuOf(processes)
			if err := errors.Join(err, failed); err != nil {
				return err
			}
			calls[i] += n
			for j := range after {
				used[i][j] += after[j] - before[j]
			}
		}
	}
	s := o.full.Seconds()
	fmt.Fprintf(w, "%d workers without a pause: %.0f calls a second to the engine, %.0f through the proxy (%.0f %%)\n\n", workers, calls[0]/s, calls[1]/s, 100*calls[1]/calls[0])
	fmt.Fprintln(w, "| CPU time of a call | callers | engine | proxy |\n| --- | ---: | ---: | ---: |")
	for i, name := range names {
		fmt.Fprintf(w, "| %s |", name)
		for _, d := range used[i] {
			fmt.Fprintf(w, " %.3f ms |", rig.Millis(d)/calls[i])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return nil
}

// cpuOf returns the CPU time of each process.
func cpuOf(processes [3]int) (used [3]time.Duration, err error) {
	for i, pid := range processes {
		if used[i], err = rig.CPUOf(pid); err != nil {
			return used, err
		}
	}
	return used, nil
}

// createTable creates the table in the database that all calls use.
func createTable(ctx context.Context, endpoint string) error {
	id := aws.String("id")
	_, err := dynamolocal.DynamoDB(endpoint, access).CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: id, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: id, AttributeType: types.ScalarAttributeTypeS}},
	})
	return err
}

// proxy is the process of a proxy.
type proxy struct {
	url  string
	pid  int
	stop func()
}

const ready = "the proxy is at "

// start starts this program as the proxy before an engine.
func start(ctx context.Context, before string) (*proxy, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "throttle", "-serve", before)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		stop()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	p := &proxy{pid: cmd.Process.Pid, stop: func() {
		stop()
		_ = cmd.Wait() // it was killed
	}}
	for lines := bufio.NewScanner(out); p.url == "" && lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), ready); ok {
			p.url = url
		}
	}
	if p.url == "" {
		p.stop()
		return nil, errors.New("the proxy's process ended before it served")
	}
	return p, nil
}
