// Package live measures what it takes to count a stream where one is: CPU and memory of a
// process that reads the stream of a busy table, from a stand-in of DynamoDB Streams that is a
// process of its own.
//
//	go -C bench run . live
package live

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/base/awshttp"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/heat/count"
	reader "github.com/hotshard/hotshard/internal/tool/live"
)

// Program is the experiment.
var Program = rig.Program{
	Name: "live", About: "CPU and memory of counting a busy table's stream on a laptop",
	Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
		var o offered
		f.IntVar(&o.shards, "streamshards", 64, "stream shards")
		f.IntVar(&o.rate, "rate", 1000, "write units a second on each, one a record")
		f.IntVar(&o.size, "size", 300, "bytes of an item, of which a record has two")
		lasts := f.Duration("for", time.Minute, "how long it is measured, after 20 s")
		serve := f.Bool("serve", false, "be the stand-in instead")
		return func(ctx context.Context, r *rig.Run) error {
			if *serve {
				return o.serve(ctx, r)
			}
			return measure(ctx, r, o, *lasts)
		}
	},
}

// measure reads the stand-in.
func measure(ctx context.Context, out io.Writer, o offered, lasts time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	endpoint, err := start(ctx, o)
	if err != nil {
		return err
	}
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "eu-west-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: awshttp.New(awshttp.Times{Connect: 5 * time.Second, Answer: 10 * time.Second, Whole: 20 * time.Second}),
	})
	r := reader.New(reader.Options{Streams: client, Found: reader.Found{
		Source: count.Source{Table: "orders", PartitionKey: "pk"}, Stream: arn, View: types.StreamViewTypeNewAndOldImages,
	}})
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	rig.Sleep(ctx, 20*time.Second)
	began, used := time.Now(), rig.CPU()
	select {
	case err := <-ended:
		return err
	case <-time.After(lasts):
	}
	took, cpu := time.Since(began), rig.CPU()-used
	now, err := rig.Memory(os.Getpid(), "VmRSS")
	most, failed := rig.Memory(os.Getpid(), "VmHWM")
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	fmt.Fprintf(out, "offered: %d write units a second on %d stream shards, items of %d B, both images\n", o.shards*o.rate, o.shards, o.size)
	fmt.Fprintf(out, "CPU of the reader: %.1f %% of one core; resident memory: %d kB, at most %d kB\n\n", 100*cpu.Seconds()/took.Seconds(), now, most)
	fmt.Fprintln(out, "| window | coverage | units counted, of those offered | named of the keys at 1.05 x the threshold | named of those at 0.95 x |\n| --- | ---: | ---: | ---: | ---: |")
	return table(ctx, out, r, o, began)
}

// table has a row for each window that was measured.
func table(ctx context.Context, out io.Writer, r *reader.Reader, o offered, began time.Time) error {
	for w, err := range r.Windows(ctx, began, r.Settled(), reader.Window) {
		if err != nil {
			return err
		}
		coverage, units := 1.0, uint64(0)
		for _, it := range w.Items {
			units += it.Units
			if it.Coverage > 0 {
				coverage = it.Coverage
			}
		}
		var over, under int
		for _, row := range heat.Merge(w.Items) {
			if row.Status >= heat.Hot && strings.HasPrefix(row.Key, overKey) {
				over++
			} else if row.Status >= heat.Hot {
				under++
			}
		}
		fmt.Fprintf(out, "| %s | %.4f | %.4f | %d of %d | %d of %d |\n", w.Start.Format(time.TimeOnly), coverage,
			float64(units)/(float64(o.shards*o.rate)*reader.Window.Seconds()), over, o.of(overKey), under, o.of(underKey))
	}
	return nil
}

// start runs the stand-in, which ends with ctx, and returns its URL.
func start(ctx context.Context, o offered) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, "live", "-serve", fmt.Sprintf("-streamshards=%d", o.shards), fmt.Sprintf("-rate=%d", o.rate), fmt.Sprintf("-size=%d", o.size))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), serving); ok {
			return url, nil
		}
	}
	return "", errors.Join(errors.New("the stand-in did not start"), cmd.Wait())
}
