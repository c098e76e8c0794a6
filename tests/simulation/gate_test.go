package simulation

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/table"
)

// errDead is the error of every request of a dead process. Its goroutines run on, but no longer reach the store.
var errDead = errors.New("the process died")

const (
	// maxSlow is the longest time that a slow request waits before it is applied, and again after.
	maxSlow = 4 * time.Second
	// maxHeld is the longest time that a write of a projector is held: the settle window and more.
	maxHeld = 15 * time.Second
	// maxLate is the longest time after which a late request is applied: longer than a command's deadline and than the
	// settle window.
	maxLate = time.Minute
)

// gate is the SDK middleware between a process and the store. It delays and drops requests, and crashes the process.
type gate struct {
	*history
	process *process
}

// ID implements middleware.InitializeMiddleware.
func (g gate) ID() string { return "simulation.gate" }

type reply struct {
	out      middleware.InitializeOutput
	metadata middleware.Metadata
	err      error
}

// HandleInitialize implements middleware.InitializeMiddleware.
func (g gate) HandleInitialize(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	if g.process.dead {
		return middleware.InitializeOutput{}, middleware.Metadata{}, errDead
	}
	request := describe(in.Parameters)
	g.model.noteAttempt(ctx, in.Parameters)
	g.add(ctx, "requests", 1)
	d := g.draw(ctx, request.operation+" "+request.key.PK+" "+request.key.SK)
	answered := make(chan reply, 1)
	g.inFlight.Add(1)
	go func() {
		defer g.inFlight.Done()
		answered <- g.execute(context.WithoutCancel(ctx), d, request, in, next)
	}()
	select {
	case r := <-answered:
		if g.process.dead {
			r = reply{err: errDead}
		}
		return r.out, r.metadata, r.err
	case <-ctx.Done():
		return middleware.InitializeOutput{}, middleware.Metadata{}, &smithy.CanceledError{Err: ctx.Err()}
	}
}

// execute draws the fault and the latency of a request, and applies it accordingly.
func (g gate) execute(ctx context.Context, d dice, request request, in middleware.InitializeInput,
	next middleware.InitializeHandler) reply {
	latency := func() time.Duration { return d.between(0, g.knobs.latency) }
	before, after := latency(), latency()
	if g.knobs.slowProjectors && !g.faultsOff && g.process.isProjector() {
		before, after = d.between(0, maxSlow/2), d.between(0, maxSlow/4)
	}
	if g.occurs(Slow, !g.faultsOff && d.chance(g.knobs.slow)) {
		before, after = d.between(0, maxSlow), d.between(0, maxSlow)
	}
	if held := !g.faultsOff && request.writes && g.process.isProjector(); g.occurs(HeldWrites, held && d.chance(g.knobs.held)) {
		before = d.between(time.Second, maxHeld)
	}
	if g.process.isReliable() {
		before, after = d.between(0, time.Millisecond), d.between(0, time.Millisecond)
	}
	fault := g.drawFault(d, request)
	apply := func() reply {
		time.Sleep(before)
		g.trace(fault, request)
		r := reply{}
		if request.writes {
			g.committing.Add(1)
		}
		r.out, r.metadata, r.err = next.HandleInitialize(ctx, in)
		g.countTogether(ctx, in.Parameters, r.err)
		if request.writes {
			g.committing.Add(-1)
			if r.err != nil {
				g.count("writes refused")
			}
			g.observe()
		}
		time.Sleep(after)
		return r
	}
	g.count("requests")
	if fault != "" {
		g.count("faults")
		g.add(ctx, "faults", 1)
	}
	switch fault {
	case NotSent:
		time.Sleep(before)
		return reply{err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}}
	case Lost:
		time.Sleep(before)
		return reply{err: errors.New("connection reset by peer")}
	case AnswerLost:
		apply()
		return reply{err: errors.New("connection reset by peer")}
	case Late:
		g.inFlight.Add(1)
		delay := d.between(0, maxLate)
		go func() {
			defer g.inFlight.Done()
			before += delay
			apply()
		}()
		time.Sleep(before)
		if g.plan.has(CrashAfter) && d.chance(g.knobs.dieAfterLate) {
			g.die(g.process)
		}
		return reply{err: errors.New("connection reset by peer")}
	case InProgress:
		if d.chance(.5) {
			apply()
		}
		return reply{err: &types.TransactionInProgressException{}}
	case Throttled:
		time.Sleep(before)
		throttled := &types.ProvisionedThroughputExceededException{}
		return reply{err: g.storeRefusal(d, request, throttled, table.ReasonThrottled)}
	case Conflict:
		time.Sleep(before)
		return reply{err: g.storeRefusal(d, request, &types.TransactionConflictException{}, table.ReasonConflict)}
	case Unprocessed:
		return g.unprocessed(d, in, apply)
	case CrashBefore:
		time.Sleep(before)
		g.die(g.process)
		return reply{err: errDead}
	case CrashAfter:
		apply()
		g.die(g.process)
		return reply{err: errDead}
	}
	return apply()
}

// drawFault draws the fault of a request. Empty: none.
func (g gate) drawFault(d dice, r request) Hazard {
	crash, fault, late := d.chance(g.knobs.crash), d.chance(g.knobs.fault), d.chance(g.knobs.late)
	var drawn Hazard
	switch {
	case late && r.operation == "TransactWriteItems":
		drawn = Late
	case crash && r.writes:
		drawn = pick(d, CrashBefore, CrashAfter)
	case crash:
		drawn = CrashBefore
	case !fault:
	case r.operation == "BatchGetItem" && r.actions > 1 && d.chance(.6):
		drawn = Unprocessed
	case r.operation == "TransactWriteItems":
		drawn = pick(d, NotSent, Lost, AnswerLost, AnswerLost, Late, InProgress, Throttled, Conflict)
	case r.writes:
		drawn = pick(d, NotSent, Lost, AnswerLost, Late, Late, Throttled, Conflict)
	case r.operation == "TransactGetItems":
		drawn = pick(d, NotSent, Throttled, Conflict)
	default:
		drawn = pick(d, NotSent, Throttled)
	}
	if g.faultsOff || drawn == "" || !g.occurs(drawn, true) {
		return ""
	}
	return drawn
}

// storeRefusal returns the error with which the store declines a request: alone, but for a transaction, a cancellation
// in which at least one action has the reason.
func (g gate) storeRefusal(d dice, r request, alone error, reason string) error {
	if r.operation != "TransactWriteItems" && r.operation != "TransactGetItems" {
		return alone
	}
	cancelled := &types.TransactionCanceledException{CancellationReasons: make([]types.CancellationReason, r.actions)}
	at := d.IntN(r.actions)
	for i := range cancelled.CancellationReasons {
		code := table.ReasonNone
		if i == at || d.chance(.2) {
			code = reason
		}
		cancelled.CancellationReasons[i].Code = &code
	}
	return cancelled
}

// unprocessed applies a BatchGetItem to some of its keys, and returns the others as unprocessed.
func (g gate) unprocessed(d dice, in middleware.InitializeInput, apply func() reply) reply {
	batch := in.Parameters.(*dynamodb.BatchGetItemInput)
	asked := batch.RequestItems
	defer func() { batch.RequestItems = asked }() // the caller still uses it
	for name, wanted := range asked {
		read := d.IntN(len(wanted.Keys))
		left := wanted
		left.Keys, wanted.Keys = wanted.Keys[read:], wanted.Keys[:read]
		if read == 0 {
			return reply{out: middleware.InitializeOutput{Result: &dynamodb.BatchGetItemOutput{
				UnprocessedKeys: map[string]types.KeysAndAttributes{name: left},
			}}}
		}
		batch.RequestItems = map[string]types.KeysAndAttributes{name: wanted}
		r := apply()
		if out, ok := r.out.Result.(*dynamodb.BatchGetItemOutput); ok && r.err == nil {
			out.UnprocessedKeys = map[string]types.KeysAndAttributes{name: left}
		}
		return r
	}
	return apply()
}

// request is what the drawn fault of a request depends on.
type request struct {
	operation string
	key       table.Key // the first key in it
	actions   int
	writes    bool
}

func describe(parameters any) request {
	switch in := parameters.(type) {
	case *dynamodb.GetItemInput:
		return request{"GetItem", table.ItemKey(in.Key), 1, false}
	case *dynamodb.BatchGetItemInput:
		for _, wanted := range in.RequestItems {
			return request{"BatchGetItem", table.ItemKey(wanted.Keys[0]), len(wanted.Keys), false}
		}
	case *dynamodb.QueryInput:
		values := in.ExpressionAttributeValues
		return request{"Query", table.Key{PK: text(values, ":partition"), SK: text(values, ":from")}, 1, false}
	case *dynamodb.ScanInput:
		return request{"Scan", table.Key{}, 1, false}
	case *dynamodb.PutItemInput:
		return request{"PutItem", table.ItemKey(in.Item), 1, true}
	case *dynamodb.UpdateItemInput:
		return request{"UpdateItem", table.ItemKey(in.Key), 1, true}
	case *dynamodb.TransactGetItemsInput:
		return request{"TransactGetItems", table.ItemKey(in.TransactItems[0].Get.Key), len(in.TransactItems), false}
	case *dynamodb.TransactWriteItemsInput:
		first := in.TransactItems[0]
		r := request{operation: "TransactWriteItems", actions: len(in.TransactItems), writes: true}
		switch {
		case first.Put != nil:
			r.key = table.ItemKey(first.Put.Item)
		case first.Update != nil:
			r.key = table.ItemKey(first.Update.Key)
		}
		return r
	}
	return request{operation: "other", actions: 1}
}

// client returns a client of the store for a process. The SDK does not retry: retries are the product's own.
func (h *history) client(p *process) *dynamodb.Client {
	return h.store.DynamoDB(func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(gate{h, p}, middleware.Before)
		})
	})
}
