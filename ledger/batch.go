package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// BatchMax is the maximum number of requests in a batch.
const BatchMax = 100

// BatchPostingsMax is the maximum number of postings of a batch's requests together: those of BatchMax settled trades.
// With the longest texts, and the first debit of each account, so many take 4,600 write units, about what a new table
// serves in one second.
const BatchPostingsMax = 4 * BatchMax

// unknownPostings is what the end of a hold or a reversal counts in a batch if it does not list its postings: as many
// as a settled trade. What it really has is known only once it is read.
const unknownPostings = 4

// batchReserve is how long before its deadline a batch starts its last write. It keeps unknown outcomes rare.
const batchReserve = time.Second

// jointTries is after how many further attempts that wrote nothing a joint write is given up. It has more items than a
// single request, so it conflicts more often.
const jointTries = 3

// BatchViolation returns the rule that a batch of this number of requests violates, "" if none.
func BatchViolation(requests int) string {
	if requests < 1 || requests > BatchMax {
		return fmt.Sprintf("must have 1 to %d items, not %d", BatchMax, requests)
	}
	return ""
}

// PostBatch carries out 1 to BatchMax requests. They are of one actor, and all or none of them are dry runs. Each
// transaction must have an id, and no hold may be ended twice. It returns the results in the order of the requests.
//
// An atomic batch is carried out completely or not at all. A request may spend what earlier ones credit or give back.
// But it cannot end or reverse a transaction of the same batch, and no transaction may be reversed twice. Requests that
// were carried out before get their first answer, and the others are carried out. The error is that of the first
// refused request, which Error.Request numbers, or CodeBatchTooLarge.
//
// In any other batch the requests are independent. Requests that debit the same limited account and asset are carried
// out together or in their order (see postChain), and those that place, end and reverse the same transaction in their
// order; the others in any order. What a reversal debits is not known before, so it may be carried out at any time.
// Requests that were not started in time get CodeUnavailable.
//
// Errors of the batch as a whole: CodeInvalidTransaction (for the number of requests, or for one that repeats another),
// CodeBatchTooLarge (for BatchPostingsMax), CodeInternal.
func (l *Ledger) PostBatch(ctx context.Context, all []Request, atomic bool) ([]BatchResult, error) {
	var f faults
	f.check(Field{Name: "requests"}, BatchViolation(len(all)))
	if f != nil {
		return nil, invalidTransaction(f)
	}
	batch := make([]*request, len(all))
	for i, r := range all {
		batch[i] = &request{draft: r.expand()}
		if atomic {
			batch[i].number = i + 1
		}
	}
	if err := batchRules(batch); err != nil {
		return nil, err
	}
	for _, r := range batch {
		r.refused = r.validate()
	}
	if refused := firstRefused(batch); atomic && refused != nil {
		return nil, refused
	}
	postings := 0
	for _, r := range batch {
		if r.refused == nil {
			postings += r.batchPostings()
		}
	}
	if err := CheckBatchPostings(postings); err != nil {
		return nil, err
	}
	c, cancel, err := startCommand(ctx, nil, batch[0].Actor)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if atomic {
		err = l.postAtomic(c, batch)
	} else {
		l.postEach(c, batch)
	}
	if err != nil {
		return nil, err
	}
	results := make([]BatchResult, len(all))
	for i, r := range batch {
		results[i] = BatchResult{Posted: r.answer, Err: r.refused}
	}
	return results, nil
}

// batchRules checks the rules over several requests. Errors: CodeInvalidTransaction, CodeInternal.
func batchRules(batch []*request) error {
	var f faults
	first := batch[0]
	ids, ended, reversed := make(map[string]bool, len(batch)), make(map[string]bool), make(map[string]bool)
	once := func(seen map[string]bool, id string, i int, name, rule string) {
		if id != "" && seen[id] {
			f.check(Field{Request: i + 1, Name: name}, rule)
		}
		seen[id] = true
	}
	for i, r := range batch {
		if r.Actor != first.Actor || r.DryRun != first.DryRun {
			return internalError(errors.New("a batch of several actors, or in part a dry run"))
		}
		if r.endsHold() {
			once(ended, r.ID, i, "transaction", RuleRepeatedEnd)
			continue
		}
		once(ids, r.ID, i, "id", RuleRepeatedID)
		if r.isReversal() && r.number > 0 { // both would be written under the same number
			once(reversed, r.reverses, i, "transaction", ruleRepeatedReversal)
		}
	}
	if f != nil {
		return invalidTransaction(f)
	}
	return nil
}

// firstRefused returns the error of the first request that is refused, nil if there is none.
func firstRefused(batch []*request) error {
	for _, r := range batch {
		if r.refused != nil {
			return r.inBatch(r.refused)
		}
	}
	return nil
}

// BatchPostings returns the number of postings that a request counts in a batch. It follows from the request alone.
func BatchPostings(r Request) int { return r.expand().batchPostings() }

func (d draft) batchPostings() int {
	switch {
	case len(d.part.Postings) > 0:
		return len(d.part.Postings)
	case d.endsHold(), d.isReversal():
		return unknownPostings
	case d.settle:
		return 2 * len(d.legs)
	case d.split != nil:
		return max(1, len(d.split.Sources)) + len(d.split.To)
	}
	return len(d.legs)
}

// CheckBatchPostings returns CodeBatchTooLarge if requests together have more than BatchPostingsMax postings.
func CheckBatchPostings(postings int) error {
	if postings <= BatchPostingsMax {
		return nil
	}
	var f faults
	f.check(Field{Name: "requests"}, fmt.Sprintf("must have at most %d postings together, not %d: split the batch",
		BatchPostingsMax, postings))
	return f.refusal(CodeBatchTooLarge, "The batch is too large; see errors.")
}

// validate checks one request of a batch without reading anything.
func (d draft) validate() *Error {
	f := faults(d.shape())
	if d.ID == "" && !d.endsHold() {
		f.check(Field{Name: "id"}, "must be given in a batch")
	}
	if len(f) > 0 {
		return invalidRequest(f...)
	}
	return d.rules()
}

// postAtomic carries out all requests in one transaction of the store. Error: that of the first refused request.
func (l *Ledger) postAtomic(c *command, batch []*request) error {
	leave, err := l.takeTurns(c, batch...)
	if err != nil {
		return err
	}
	defer leave()
	l.prefetch(c, batch)
	// What the requests end or reverse is read several at a time. Each request reads what it still misses.
	_ = parallel(c, len(batch), func(ctx context.Context, i int) error {
		r := batch[i]
		if r.other() == "" {
			return nil
		}
		_, err := r.readOther(ctx, l)
		r.ahead = r.last
		return err
	})
	return l.carryOut(c, batch...)
}

// checkActions returns CodeBatchTooLarge if one transaction of the store cannot hold this number of actions.
func checkActions(actions int) error {
	over := actions - table.TransactionActions
	if over <= 0 {
		return nil
	}
	return &Error{
		Code: CodeBatchTooLarge, TooMany: over,
		Detail: fmt.Sprintf("The batch needs %d writes, %d more than one database transaction can have. Each request "+
			"needs one write, a reversal two. So does each posting, and each account and asset that is debited within "+
			"a limit, or whose limits over time get something back from a hold.",
			actions, over),
	}
}

// prefetch reads what requests have in common: for backdated ones the newest closing, and for all the definitions and
// credits. Of these it only fills the caches: each request looks up what it still misses.
func (l *Ledger) prefetch(c *command, batch []*request) {
	if slices.ContainsFunc(batch, func(r *request) bool { return r.refused == nil && r.EffectiveAt != nil }) {
		c.readPeriod(l)
	}
	var keys lookupKeys
	all := &definitions{}
	for _, r := range batch {
		if r.refused != nil {
			continue
		}
		known, missing := l.cachedDefinitions(r.draft)
		all.accounts = append(all.accounts, known.accounts...)
		keys.accounts = append(keys.accounts, missing.accounts...)
		keys.assets = append(keys.assets, missing.assets...)
		keys.credits = append(keys.credits, l.uncachedCredits(r.draft, known)...)
	}
	if keys.empty() {
		return
	}
	if err := l.lookupInto(c, keys, all); err != nil {
		l.log.WarnContext(c, "prefetch of a batch failed", "error", err)
	}
}

// postEach posts the requests independently.
func (l *Ledger) postEach(c *command, batch []*request) {
	l.prefetch(c, batch)
	l.setOrder(batch)
	chains := l.chains(batch)
	_ = parallel(c, len(chains), func(_ context.Context, n int) error {
		l.postChain(c, chains[n])
		return nil
	})
}

// setOrder sets the order of the requests that are not refused: the transactions that each places, ends or reverses,
// and the limited pairs that it debits. Unknown accounts count as limited. A settled trade whose currency is not known
// may debit any pair of the buyer: with such a trade in the batch, all pairs of an account count as one.
func (l *Ledger) setOrder(batch []*request) {
	byAccount := slices.ContainsFunc(batch, func(r *request) bool {
		if !r.settle || r.refused != nil {
			return false
		}
		_, isKnown := l.assets.get(r.legs[0].Asset)
		return !isKnown
	})
	for _, r := range batch {
		if r.refused != nil {
			continue
		}
		r.order = []any{r.ID}
		if other := r.other(); other != "" {
			r.order = append(r.order, other)
		}
		known, _ := l.cachedDefinitions(r.draft)
		for _, pair := range known.limitedDebits(r.draft) {
			if byAccount {
				pair.Asset = ""
			}
			r.order = append(r.order, pair)
		}
		if byAccount && r.settle {
			r.order = append(r.order, events.Pair{Account: r.legs[0].Account})
		}
	}
}

// chains groups the requests that are not refused; some groups are empty. Requests with the same pair or transaction in
// their order are in one chain. In a dry run nothing is written, so every request is its own chain.
func (l *Ledger) chains(batch []*request) [][]*request {
	last := make(map[any]int) // the last request that debits a pair, or that is for the transaction with an id
	root := make([]int, len(batch))
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	link := func(i int, to any) {
		if j, ok := last[to]; ok { // the first request of a chain is its root
			a, b := find(i), find(j)
			root[max(a, b)] = min(a, b)
		}
		last[to] = i
	}
	for i, r := range batch {
		root[i] = i
		if r.refused != nil || r.DryRun {
			continue
		}
		for _, of := range r.order {
			link(i, of)
		}
	}
	chains := make([][]*request, len(batch)) // by root, the others are empty
	for i, r := range batch {
		if r.refused == nil {
			chains[find(i)] = append(chains[find(i)], r)
		}
	}
	return chains
}

// errTogether ends a joint write that a guard refused.
var errTogether = errors.New("the requests cannot be written together")

// postChain posts independent requests that share guards, in their order, and answers each.
//
// Those that fit are written together: one transaction of the store updates each guard once, instead of once for each
// request. Only a success answers them, or what is stored under their ids. If the joint write fails otherwise, each
// request is posted alone, and has its own reason to be refused. But the joint write may have an unknown outcome. So
// the requests carry on with what its attempts leave behind (see only), and these rules keep a refusal final:
//
//   - A request that was in a write of unknown outcome is unknown itself until it is answered.
//   - The joint write passes a guard only if each of its requests would pass it alone, without the credits of the
//     others. So its bound is at most that of each request. Then a request that its guard refuses alone cannot be
//     written by a joint attempt that is still in flight.
//
// A request is not judged while it is not known what became of an earlier request that debits the same pair, or that is
// for the transaction that it ends or reverses: it is not tried. So their order holds when they are sent again, too.
func (l *Ledger) postChain(c *command, chain []*request) {
	open := make(map[any]bool) // transactions and pairs of which an earlier request may be sent again
	for len(chain) > 0 {
		n := l.fitting(chain)
		joint := &attempts{ledger: l, pending: chain[:n], joint: true}
		if n > 1 && len(open) == 0 && hasTime(c) {
			_ = joint.carryOut(c) // the error is of no request: those that it leaves pending are posted alone
		}
		for _, r := range joint.pending {
			waits := slices.ContainsFunc(r.order[1:], func(of any) bool { return open[of] })
			err := joint.only(r).postAlone(c, waits)
			if err == nil {
				continue
			}
			r.refused = asError(err)
			if r.refused.isTemporary() {
				for _, of := range r.order {
					open[of] = true
				}
			}
		}
		chain = chain[n:]
	}
}

// fitting returns how many of the first requests fit into one transaction of the store; at least one. What ends or
// reverses a transaction is always alone: it may need the request before it, or the same number as another reversal. So
// is what moves as much as fits: how much it is depends on the requests before it.
func (l *Ledger) fitting(chain []*request) int {
	actions, guards := 0, make(map[events.Pair]bool)
	for n, r := range chain {
		if r.other() != "" || r.fit != nil {
			return max(n, 1)
		}
		known, _ := l.cachedDefinitions(r.draft)
		actions += r.eventCount() + len(known.legs(r.draft))
		before := len(guards)
		for _, pair := range known.limitedDebits(r.draft) {
			guards[pair] = true
		}
		if actions += len(guards) - before; n > 0 && actions > table.TransactionActions {
			return n
		}
	}
	return len(chain)
}

// hasTime reports whether a write of a batch may start: the deadline is not near, and the caller waits.
func hasTime(c *command) bool {
	end, _ := c.Deadline()
	return time.Until(end) >= batchReserve && c.abandoned() == nil
}

// only returns attempts for one of the pending requests, which go on after those of a joint write: with its credits and
// accounts, with its attempts, and with its unknown outcome.
func (a *attempts) only(r *request) *attempts {
	return &attempts{
		ledger: a.ledger, limits: a.limits, tries: tries{unknown: a.unknown},
		pending: []*request{r}, sent: slices.Clip(a.sent),
	}
}

// postAlone carries out a request of a batch, unless it must wait for an earlier one or there is no time.
func (a *attempts) postAlone(c *command, waits bool) error {
	switch {
	case !waits && hasTime(c):
		leave, err := a.ledger.takeTurns(c, a.pending...)
		if err != nil {
			return err
		}
		defer leave()
		return a.carryOut(c)
	case a.unknown:
		return unknownError(a.pending[0].ID, context.DeadlineExceeded)
	case waits:
		return notTried("An earlier request for the same account or transaction has no final answer")
	}
	return notTried("The batch took too long")
}

func notTried(why string) *Error {
	e := busy(CodeUnavailable, "", context.DeadlineExceeded)
	e.Detail = why + ": this request was not tried. Nothing was written for it."
	return e
}
