package folds

import (
	"context"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
)

// process is one of a function's. Its calls to DynamoDB fail before or after they are
// applied, and it dies in some: then it gets no answers, and gives none. What was applied
// is always known here, since a call that is under way is never cut off.
type process struct {
	*system
	context.Context // ends when it dies
	die             context.CancelFunc
	role            role

	api     http.Handler  // of ingest
	handler *fold.Handler // of the aggregator
}

// newProcess returns one with the client that it calls DynamoDB with.
func (s *system) newProcess(r role) (*process, *dynamodb.Client) {
	p := &process{system: s, role: r}
	p.Context, p.die = context.WithCancel(context.Background())
	return p, dynamodb.New(s.DB.Options(), func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Faults", p.call), middleware.Before)
		})
	})
}

func (p *process) dead() bool { return p.Err() != nil }

// within returns a context for work of the process, which ends with it.
func (p *process) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p, cancel)
	return ctx, func() { stop(); cancel() }
}

// call makes a call to DynamoDB, or fails.
func (p *process) call(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
	if p.dead() {
		return out, md, p.Err()
	}
	f := p.dice.draw(p.role.chances(in.Parameters))
	if f != none {
		p.inject(fault(p.role) + ": " + f)
	}
	if f == deathBefore {
		p.die()
		return out, md, p.Err()
	}
	if err := p.dice.refusal(f, in.Parameters); err != nil {
		return out, md, err
	}
	var left map[string][]types.WriteRequest
	if f == unprocessed {
		in.Parameters, left = p.leave(*in.Parameters.(*dynamodb.BatchWriteItemInput))
	}
	if p.o.tamper != nil {
		in.Parameters = p.o.tamper(p.role, in.Parameters)
	}
	out, md, err = next.HandleInitialize(context.WithoutCancel(ctx), in)
	if f == deathAfter {
		p.die()
	}
	lost := f == lostAnswer || p.dead() || ctx.Err() != nil
	if err == nil {
		p.applied(ctx, in.Parameters, lost)
	}
	if lost {
		return out, md, broke{}
	}
	if err == nil && left != nil {
		out.Result.(*dynamodb.BatchWriteItemOutput).UnprocessedItems = left
	}
	return out, md, err
}

// leave leaves some of a batch's writes out, but not all.
func (p *process) leave(in dynamodb.BatchWriteItemInput) (some *dynamodb.BatchWriteItemInput, left map[string][]types.WriteRequest) {
	all := in.RequestItems
	in.RequestItems, left = map[string][]types.WriteRequest{}, map[string][]types.WriteRequest{}
	for table, requests := range all {
		at := p.dice.intN(len(requests)) + 1
		in.RequestItems[table] = requests[:at]
		if at < len(requests) {
			left[table] = requests[at:]
		}
	}
	return &in, left
}

// applied books a call that was applied.
func (p *process) applied(ctx context.Context, call any, lost bool) {
	b := &p.books
	if p.role != ofIngest {
		if _, ok := call.(*dynamodb.UpdateItemInput); ok && p.role == ofFolds {
			p.count(folded, 1)
		}
		return
	}
	switch in := call.(type) {
	case *dynamodb.UpdateItemInput:
		b.update(ctx, in.Key, in.ExpressionAttributeValues, lost)
	case *dynamodb.PutItemInput:
		b.put(ctx, in.Item)
	case *dynamodb.BatchWriteItemInput:
		for _, requests := range in.RequestItems {
			for _, request := range requests {
				b.put(ctx, request.PutRequest.Item)
			}
		}
	case *dynamodb.TransactWriteItemsInput:
		b.transaction(ctx)
		for _, action := range in.TransactItems {
			if action.Put != nil {
				b.put(ctx, action.Put.Item)
			}
			if action.Update != nil {
				b.update(ctx, action.Update.Key, action.Update.ExpressionAttributeValues, false)
			}
		}
	}
}

// settingsOf reads a function's settings as the function does. Shard counts are
// changed by the harness alone.
func settingsOf[T any](s *system) (T, error) {
	return rig.Settings[T](s.Tables, "HOTSHARD_CONTROL="+string(growth.Off), "HOTSHARD_ROLLUP_RULES="+rules)
}

func (s *system) startIngest() (*process, error) {
	p, client := s.newProcess(ofIngest)
	settings, err := settingsOf[ingest.Settings](s)
	if err != nil {
		return nil, err
	}
	service, err := ingest.New(settings, client, rig.Silent)
	if err != nil {
		return nil, err
	}
	p.api = httpapi.New(rig.Silent, ingest.Routes(service))
	return p, nil
}

func (s *system) startAggregator() (p *process, err error) {
	p, client := s.newProcess(ofFolds)
	settings, err := settingsOf[fold.Settings](s)
	if err != nil {
		return nil, err
	}
	p.handler, err = fold.New(settings, client, rig.Silent)
	return p, err
}

// pool has a number of processes; one that died is replaced by one that knows nothing.
type pool struct {
	start func() (*process, error)

	mu  sync.Mutex
	all [3]*process
}

// pick returns one by chance.
func (p *pool) pick(d *dice) (_ *process, err error) {
	i := d.intN(len(p.all))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[i] == nil || p.all[i].dead() {
		p.all[i], err = p.start()
	}
	return p.all[i], err
}
