package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Sources are where evidence comes from. All except DynamoDB may be nil.
type Sources struct {
	DynamoDB   *dynamodb.Client
	CloudWatch *cloudwatch.Client
	Limiter    func(context.Context) (LimitedCalls, error) // reads what a limiter before an engine throttled
	Heat       HeatReader
	HeatCalls  string                            // the actions that Heat needs permissions for
	Advise     func(context.Context, Key) string // returns the cure for a throttled key, or "" for the usual cure
	Logs       []Log                             // with errors of SDKs
}

// HeatReader returns the hot keys of a time range. partitionWCU is a partition's limit.
type HeatReader func(ctx context.Context, from, to time.Time, partitionWCU float64) ([]Key, error)

// LimitedCalls has a limiter's throttles.
type LimitedCalls struct {
	Since   time.Time // since when it counts; zero if unknown
	Counts  []Count
	Keys    []Key
	Unnamed float64 // throttles without a table's name: the limiter names a bounded number of tables

	PartitionWCU, PartitionRCU float64 // a partition's limits; 0 is unknown
}

// Options say what to explain.
type Options struct {
	Name         string   // Report.Table
	Tables       []string // names or ARNs, at least one
	Deployment   bool     // whether Tables are a deployment's
	Index        string   // only this index; "" for tables and all indexes
	From, To     time.Time
	PartitionWCU float64          // a partition's limit, unless a limiter reports its own
	Commands     display.Commands // for the command lines in the report
}

// collection is the evidence while it is collected.
type collection struct {
	Sources
	Evidence
	options    Options
	notes      []string
	indexes    []string // names of the tables' indexes
	firstTable string   // the first of Options.Tables
	current    bool     // whether a source has counted the newest throttles
}

// NoIndex is the error for an Options.Index that no table has.
type NoIndex struct {
	Table, Index string
	Has          []string // the tables' indexes
}

func (e *NoIndex) Error() string {
	return fmt.Sprintf("Table %s has no global index %q. Check --index: %s.", e.Table, e.Index, cmp.Or(strings.Join(e.Has, ", "), "it has none"))
}

// Run collects the evidence and returns the report, with a note for each source that it can't read. Errors are of table
// names, of DescribeTable, except a missing permission, of an absent index, of reading a log, and of ctx.
func Run(ctx context.Context, sources Sources, options Options) (Report, error) {
	firstTable := options.Tables[0]
	options.Tables = slices.Clone(options.Tables)
	collected := &collection{Sources: sources, options: options, firstTable: firstTable, Evidence: Evidence{Name: options.Name, From: options.From, To: options.To, PartitionWCU: options.PartitionWCU, Commands: options.Commands}}
	if err := collected.describeAll(ctx); err != nil {
		return Report{}, err
	}
	if options.Index != "" && len(collected.Resources) == 0 {
		return Report{}, &NoIndex{options.Name, options.Index, collected.indexes}
	}
	if sources.Limiter != nil {
		collected.readLimiter(ctx)
	}
	if err := collected.readLogs(); err != nil {
		return Report{}, err
	}
	if sources.CloudWatch != nil {
		collected.readMetrics(ctx)
	}
	nothingThrottled := collected.Counted && len(collected.Counts) == 0 && collected.Logged == 0
	if nothingThrottled && !collected.current {
		collected.excludeNewest()
	}
	if !nothingThrottled {
		collected.readHeat(ctx)
		collected.advise(ctx)
	}
	if !collected.Counted && sources.CloudWatch == nil {
		collected.addNote("The engine has no CloudWatch. An --endpoint of hotshard throttle or of hotshard local's limiter counts throttles.")
	}
	report := Explain(collected.Evidence)
	report.Notes = append(report.Notes, collected.notes...)
	report.Next = append(report.Next, collected.next(&report)...)
	return report, ctx.Err()
}

// metricsDelay is the time after which CloudWatch has counted a throttle.
const metricsDelay = 3 * time.Minute

// excludeNewest ends the report's time before the minutes that CloudWatch may not have counted yet. If no minute is left, it
// is unknown whether requests were throttled.
func (c *collection) excludeNewest() {
	c.addNote("CloudWatch's metrics arrive up to 3 minutes late: ask again for the newest throttles.")
	countedTo := c.To.Add(-metricsDelay)
	if !countedTo.After(c.From) {
		c.Counted = false
		return
	}
	c.To = countedTo
}

// describeAll adds all tables and their indexes, and replaces ARNs in options.Tables by names. An absent table of a
// deployment is a note, unless all are absent: an attached deployment has only some of the tables.
func (c *collection) describeAll(ctx context.Context) error {
	var absent []error
	for i, nameOrARN := range c.options.Tables {
		name, _, _, err := dynamo.TableName(nameOrARN)
		if err != nil {
			return err
		}
		c.options.Tables[i] = name
		err = c.describeTable(ctx, name, nameOrARN)
		if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
			absent = append(absent, err)
		} else if err != nil {
			return err
		}
	}
	if len(absent) > 0 && (!c.options.Deployment || len(absent) == len(c.options.Tables)) {
		return absent[0]
	}
	if len(absent) > 0 {
		c.addNote("The deployment lacks %s. If it is attached to a table, explain that table with --table.", display.Several(len(absent), "table"))
	}
	return nil
}

func (c *collection) addNote(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// noteError adds a note on what is unknown because a call of this action failed.
func (c *collection) noteError(err error, unknown, action string) {
	fault, ok := errors.AsType[smithy.APIError](err)
	switch {
	case isDenied(err):
		c.addNote("%s: allow %s to know.", unknown, action)
	case ok:
		c.addNote("%s: %s answered %s (%.200s).", unknown, action, fault.ErrorCode(), fault.ErrorMessage())
	default:
		c.addNote("%s: %s failed: %.300v.", unknown, action, err)
	}
}

// isDenied reports whether the caller lacks the permission for a call.
func isDenied(err error) bool {
	fault, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains([]string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized"}, fault.ErrorCode())
}

// readLimiter adds a limiter's throttles by reason and key. The report then starts when the limiter began to count.
func (c *collection) readLimiter(ctx context.Context) {
	limited, err := c.Limiter(ctx)
	if err != nil {
		c.addNote("Throttles of the limiter are unknown, since it can't be read: %v.", err)
		return
	}
	c.Counted, c.current = true, true
	if !limited.Since.IsZero() {
		c.From = limited.Since
	}
	for _, count := range limited.Counts {
		if c.isWanted(count.ID) {
			c.Counts = append(c.Counts, count)
		}
	}
	if len(c.Counts) > 0 && c.From.Before(c.options.From) {
		c.addNote("The limiter's counts have no times: they are all since %s UTC, when it started or was last reset.", c.From.UTC().Format(time.DateTime))
	}
	c.PartitionWCU, c.PartitionRCU = cmp.Or(limited.PartitionWCU, c.PartitionWCU), cmp.Or(limited.PartitionRCU, c.PartitionRCU)
	if limited.Unnamed > 0 {
		c.addNote("The limiter doesn't know the tables of %s more: it had requests for too many.", display.Several(int(limited.Unnamed), "throttle"))
	}
	c.addKeys(limited.Keys)
}

// addKeys adds the keys of the tables and indexes that are to be explained.
func (c *collection) addKeys(keys []Key) {
	for _, k := range keys {
		if c.isWanted(k.ID) {
			c.Keys = append(c.Keys, k)
		}
	}
}

// readHeat adds the hot keys of the time.
func (c *collection) readHeat(ctx context.Context) {
	if c.Heat == nil {
		return
	}
	keys, err := c.Heat(ctx, c.options.From, c.options.To, c.PartitionWCU)
	if err != nil {
		c.noteError(err, "Hot keys are unknown", c.HeatCalls)
	}
	c.addKeys(keys)
}

// maxAdvised bounds the number of keys that get advice.
const maxAdvised = 50

// advise sets the advice for the first keys.
func (c *collection) advise(ctx context.Context) {
	for i := range c.Keys[:min(len(c.Keys), maxAdvised)] {
		if k := &c.Keys[i]; c.Advise != nil && k.Advice == "" {
			k.Advice = c.Advise(ctx, *k)
		}
	}
}

// isWanted reports whether a table or index is to be explained.
func (c *collection) isWanted(id ID) bool {
	return slices.Contains(c.options.Tables, id.Table) && (c.options.Index == "" || id.Index == c.options.Index)
}
