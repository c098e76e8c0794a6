package audit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// growth is an event of the log that says how many lanes lists have.
type growth struct {
	event
	Number int64     `is:"number"`
	Lanes  int64     `is:"lanes"`
	From   time.Time `is:"instant"`
}

func (g *growth) check(r *reader) {
	if !r.broken && g.Lanes&(g.Lanes-1) != 0 {
		r.fault(WrongValue, "Lanes", "a power of two")
	}
}

func (g growth) String() string {
	return fmt.Sprintf("%d lanes from %s on", g.Lanes, g.From.Format(instantForm))
}

// checkGrowth checks that a growth follows from the one before: lanes are never taken away.
func (a *Audit) checkGrowth(ctx context.Context, g growth, key table.Key) {
	if g.Number == 1 {
		return
	}
	item := a.get(ctx, table.Key{PK: key.PK, SK: table.LanesGrown.SK(table.Number(g.Number - 1))})
	if len(item) == 0 {
		a.report(ctx, gap(GrowthMissing, "growth", g.Number-2, g.Number, key)...)
		return
	}
	before, ok := as[growth](item)
	if ok && (g.Lanes <= before.Lanes || g.From.Before(before.From)) {
		a.report(ctx, Finding{GrowthWrong, key, "", g.String(), "more than " + before.String() + ", and not earlier"})
	}
}

// laneLog is the log of growths, as far as it was read. It is safe for concurrent use.
type laneLog struct {
	mu    sync.Mutex
	all   []growth
	until time.Time // no growth that is missing from all is in force before
}

// growthsKnown is how long after the store's time of a read a growth that the read missed comes into force at the
// earliest: they are decided ten minutes ahead, and their puts may be late.
const growthsKnown = 2 * time.Minute

// lanesAt returns how many lanes an entry of a time has. It reads the log again for times that the last read does not
// cover. Unusable growths are left out: the scan reports them.
func (a *Audit) lanesAt(ctx context.Context, t time.Time) int {
	l := &a.laneLog
	l.mu.Lock()
	defer l.mu.Unlock()
	if !t.Before(l.until) {
		a.readLanes(ctx)
	}
	lanes := 1
	for _, g := range l.all {
		if !g.From.After(t) {
			lanes = max(lanes, int(g.Lanes))
		}
	}
	return lanes
}

// readLanes reads the log. Its mutex is held.
func (a *Audit) readLanes(ctx context.Context) {
	l := &a.laneLog
	bounds := table.LanesGrown.All()
	out := request(ctx, a, "read the log of lanes", a.Store.Query, &dynamodb.QueryInput{
		TableName: &a.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String(
			table.AttrPK + " = :partition AND " + table.AttrSK + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: attributes{
			":partition": stringOf(table.LanesGrown.PK()), ":from": stringOf(bounds.From), ":to": stringOf(bounds.To),
		},
		ReturnConsumedCapacity: a.limiter.capacity(),
	}, func(out *dynamodb.QueryOutput) *types.ConsumedCapacity { return out.ConsumedCapacity })
	l.all = nil
	if at, ok := awsmiddleware.GetServerTime(out.ResultMetadata); ok {
		l.until = at.Add(growthsKnown)
	}
	for _, item := range out.Items { // at most one for each bit of the number of lanes
		if g, ok := as[growth](item); ok {
			l.all = append(l.all, g)
		}
	}
}

// journalShare is how many lanes of the lists make one of the journal.
const journalShare = 16

// pageLane returns the lane of a page of the journal.
func (a *Audit) pageLane(ctx context.Context, p journalPage) string {
	return table.Lane(p.KSUID, max(1, a.lanesAt(ctx, p.at)/journalShare))
}

// pageLanes returns how many lanes the journal has, with those that were decided meanwhile.
func (a *Audit) pageLanes(ctx context.Context) int {
	l := &a.laneLog
	l.mu.Lock()
	defer l.mu.Unlock()
	a.readLanes(ctx)
	lanes := 1
	for _, g := range l.all {
		lanes = max(lanes, int(g.Lanes)/journalShare)
	}
	return lanes
}

// entriesOf returns the entries that a transaction must have: see lifecycle.entries.
func (a *Audit) entriesOf(ctx context.Context, l lifecycle, indexed []string) []entry {
	if !l.exists {
		return nil
	}
	return l.entries(indexed, a.laneOf(ctx, l.header))
}

// laneOf returns the lane of a transaction.
func (a *Audit) laneOf(ctx context.Context, h header) string {
	return table.Lane(h.ID, a.lanesAt(ctx, h.at))
}
