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

var names = [2]string{"the engine", "through the proxy"}

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
	return o.turns(ctx, w, [2]*side{newSide(engine.Endpoint()), newSide(proxy.url)}, [3]int{os.Getpid(), engine.PID(), proxy.pid})
}

// turns makes calls to both sides in turns, first at the rate and then without a pause, and prints what they took.
func (o options) turns(ctx context.Context, w io.Writer, sides [2]*side, processes [3]int) error {
	r := rand.New(rand.NewPCG(o.seed, 0))
	var paced, full [2]spent
	for done := -o.lasting / 3; done < o.lasting; done += turn {
		for _, i := range r.Perm(2) {
			into := &paced[i]
			if done < 0 {
				into = &spent{}
			}
			if err := into.measure(processes, func() (float64, error) { return sides[i].pace(ctx, o.rate, turn, done >= 0) }); err != nil {
				return err
			}
		}
	}
	for range 2 {
		for _, i := range r.Perm(2) {
			if err := full[i].measure(processes, func() (float64, error) { return sides[i].saturate(ctx, o.full/2) }); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "| %d calls a second: puts, updates and reads of 300 B | p50 | p99%s\n| --- | ---: | ---: | ---: | ---: | ---: |\n", o.rate, spentHead)
	var at [2][2]float64
	for i, name := range names {
		at[i] = sides[i].quantiles()
		fmt.Fprintf(w, "| %s, %d calls | %.3f ms | %.3f ms%v\n", name, len(sides[i].took), at[i][0], at[i][1], paced[i])
	}
	fmt.Fprintf(w, "| added | %.3f ms | %.3f ms | | | |\n\n", at[1][0]-at[0][0], at[1][1]-at[0][1])
	fmt.Fprintf(w, "| %d workers without a pause | calls a second%s\n| --- | ---: | ---: | ---: | ---: |\n", workers, spentHead)
	for i, name := range names {
		fmt.Fprintf(w, "| %s | %.0f%v\n", name, full[i].calls/o.full.Seconds(), full[i])
	}
	fmt.Fprintf(w, "| the proxy's share | %.0f %% | | | |\n\n", 100*full[1].calls/full[0].calls)
	return nil
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
