// Package throttle measures the proxy of `hotshard throttle`, a process of its own, side by side with the bare engine
// and with a TCP relay: latency at a steady rate, throughput, and memory by the number of keys.
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
		f.IntVar(&o.rate, "rate", 1000, "calls a second, to the engine, through a TCP relay and through the proxy in turns")
		f.DurationVar(&o.lasting, "for", 30*time.Second, "time of each of the three at this rate, after a third of it that does not count")
		f.DurationVar(&o.full, "full", 10*time.Second, "time of each of the three with as many calls as 8 workers make")
		f.IntVar(&o.keys, "keys", 1_000_000, "partition keys whose statistics fill the proxy's memory")
		f.Uint64Var(&o.seed, "seed", 1, "of the order of turns")
		served := f.String("serve", "", "be the proxy before this `URL` instead")
		relayed := f.String("relay", "", "be a TCP relay before this `URL` instead")
		return func(ctx context.Context, r *rig.Run) error {
			switch {
			case *served != "":
				return serve(ctx, r, *served)
			case *relayed != "":
				return relay(ctx, r, *relayed)
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

// names are the sides. No program between callers and engine can add less than the relay, which only copies bytes.
var names = [...]string{"the engine", "through a TCP relay", "through the proxy"}

// compare measures the engine, and the relay and the proxy before it, in turns.
func (o options) compare(ctx context.Context, w io.Writer) (err error) {
	engine, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{HeapMB: heapMB, Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	if err := createTable(ctx, engine.Endpoint()); err != nil {
		return err
	}
	sides := []*side{newSide(engine.Endpoint(), os.Getpid(), engine.PID())}
	for _, flag := range []string{"-relay", "-serve"} {
		p, err := start(ctx, flag, engine.Endpoint())
		if err != nil {
			return err
		}
		defer p.stop()
		sides = append(sides, newSide(p.url, os.Getpid(), engine.PID(), p.pid))
	}
	return o.turns(ctx, w, sides)
}

// turns makes calls to the sides in turns, first at the rate and then without a pause, and prints what they took.
func (o options) turns(ctx context.Context, w io.Writer, sides []*side) error {
	r := rand.New(rand.NewPCG(o.seed, 0))
	for done := -o.lasting / 3; done < o.lasting; done += turn {
		for _, i := range r.Perm(len(sides)) {
			if err := sides[i].pace(ctx, o.rate, turn, done >= 0); err != nil {
				return err
			}
		}
	}
	for range 2 {
		for _, i := range r.Perm(len(sides)) {
			if err := sides[i].saturate(ctx, o.full/2); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "| %d calls a second: puts, updates and reads of 300 B | p50 | p99 | added | added%s\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n", o.rate, spentHead)
	least := sides[0].quantiles()
	for i, s := range sides {
		at := s.quantiles()
		fmt.Fprintf(w, "| %s, %d calls | %.3f ms | %.3f ms | %.3f ms | %.3f ms%v\n", names[i], len(s.took), at[0], at[1], at[0]-least[0], at[1]-least[1], s.paced)
	}
	fmt.Fprintf(w, "\n| %d workers without a pause | calls a second | of the engine's%s\n| --- | ---: | ---: | ---: | ---: | ---: |\n", workers, spentHead)
	for i, s := range sides {
		fmt.Fprintf(w, "| %s | %.0f | %.0f %%%v\n", names[i], s.full.calls/o.full.Seconds(), 100*s.full.calls/sides[0].full.calls, s.full)
	}
	fmt.Fprintln(w)
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

// process is a proxy or a relay.
type process struct {
	url  string
	pid  int
	stop func()
}

const ready = "ready at "

// start starts this program as the proxy (-serve) or a relay (-relay) before an engine.
func start(ctx context.Context, flag, before string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "throttle", flag, before)
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
	p := &process{pid: cmd.Process.Pid, stop: func() {
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
		return nil, errors.New("the process of " + flag + " ended before it served")
	}
	return p, nil
}
