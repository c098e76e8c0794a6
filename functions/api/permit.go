package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/access"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// accountsMax is about the most accounts on which one request of a user reads roles: as many as BatchMax trades debit
// or give a cost. Each takes two queries, and one for each of its groups.
const accountsMax = 2 * ledger.BatchMax

// checkTimeout bounds the check of the caller's roles. A command that passed the check may be executed for as long as a
// command lives, even if the role is revoked after the check.
const checkTimeout = 3 * time.Second

// forbidden returns the problem of a caller whose role is too weak. It reveals that the resource exists, so it is only
// for callers who may know that.
func forbidden(role access.Role, detail string, fields ...fieldError) *problem {
	p := newProblem(codeForbidden, detail, fields...)
	p.Role = role.String()
	return p
}

// ruleRole returns the rule of a field that needs a stronger role.
func ruleRole(role access.Role) string { return "needs the role " + role.String() }

// unchecked returns the problem of a check that failed. The request is refused.
func unchecked(err error) *problem {
	code := ledger.CodeUnavailable
	if errors.Is(err, table.ErrThrottled) {
		code = ledger.CodeThrottled
	}
	p := newProblem(code, "The caller's roles could not be read; try again shortly.")
	p.cause = err
	return p
}

// accountRights returns the caller's rights on accounts. needs has the role that is needed on each account; a returned
// role may be weaker than the caller's strongest role if it suffices. It fails for services and administrators, which
// need no check.
func (r *request) accountRights(ctx context.Context, needs map[string]access.Role) (map[string]access.Right, error) {
	held, _, err := r.rights(ctx, needs)
	return held, err
}

// rights is accountRights, and the rights in groups that were read for it.
func (r *request) rights(
	ctx context.Context, needs map[string]access.Role,
) (held, within map[string]access.Right, err error) {
	held, err = r.resolve(ctx, func(ctx context.Context, all access.Resolver) (_ map[string]access.Right, err error) {
		held, within, err = all.Rights(ctx, r.caller.User, needs)
		return held, err
	})
	return held, within, err
}

// groupRights returns the caller's rights in groups.
func (r *request) groupRights(ctx context.Context, groups ...string) (map[string]access.Right, error) {
	return r.resolve(ctx, func(ctx context.Context, all access.Resolver) (map[string]access.Right, error) {
		return all.Within(ctx, r.caller.User, groups...)
	})
}

// resolve reads rights of the caller with find.
func (r *request) resolve(
	ctx context.Context, find func(context.Context, access.Resolver) (map[string]access.Right, error),
) (map[string]access.Right, error) {
	if r.caller.User == "" || r.config.Grants == nil {
		return nil, unchecked(errors.New("a check without a user, or without grants"))
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	roles, err := find(ctx, access.Resolver{Grants: r.config.Grants})
	if err != nil {
		return nil, unchecked(err)
	}
	return roles, nil
}

// permitRead calls do, which answers a read, if the caller may read it.
func (r *request) permitRead(do func() (reply, error)) (reply, error) {
	if r.caller.Admin {
		return do()
	}
	switch r.rule.of {
	case client.OnLedger:
		return reply{}, administratorsOnly()
	case client.OnThemselves:
		if r.ids["user"] != r.caller.User {
			return reply{}, forbidden(access.Administrator, "Users can read only their own accounts and groups.")
		}
	case client.OnAccount, client.OnGroup:
		return r.whilePermitted(do)
	case client.OnAnyLeg: // do checks it
		return do()
	}
	r.isPermitted = r.rule.of != ""
	return do()
}

// whilePermitted reads the caller's role concurrently with the data. A denial cancels the reads of the data. Their
// errors are not shown, but the time of an answer may still depend on what exists.
func (r *request) whilePermitted(do func() (reply, error)) (reply, error) {
	ctx, asked := r.ctx(), r.http
	data, end := context.WithCancel(ctx)
	defer end()
	r.http = asked.WithContext(data)
	defer func() { r.http = asked }() // the caller did not cancel it: see isAbandoned
	result := make(chan error, 1)
	go func() {
		denied := r.checkRole(ctx)
		if denied != nil {
			end()
		}
		result <- denied
	}()
	out, err := do()
	if denied := <-result; denied != nil {
		return reply{}, denied
	}
	r.isPermitted = true
	return out, err
}

// permit checks the caller of a write. It is called with the command that was made of the request, before anything that
// could reveal what exists.
func (a *api) permit(r *request, c command) (err error) {
	if r.caller.Admin {
		return nil
	}
	if faults := c.Shape(); len(faults) > 0 { // the ledger would check it too late
		return r.refusal(&ledger.Error{Code: ledger.CodeInvalidRequest, Fields: faults})
	}
	posting, _ := c.(ledger.Request)
	switch r.rule.of {
	case client.OnNothing:
	case client.OnLedger:
		err = administratorsOnly()
	case client.OnAccount, client.OnGroup:
		// Otherwise, a user with an owner's role through a group could keep it by granting it to themselves, and the
		// last owner of an account could leave it without an owner.
		if err = r.checkRole(r.ctx()); err == nil && r.caller.User == r.ids["user"] {
			err = forbidden(access.Administrator,
				"Users cannot change their own role; another owner or an administrator can.")
		}
	case client.OnDebited:
		err = r.permitPosting(posting)
	case client.OnHold, client.OnReversed:
		if ledger.IsBackdated(posting) {
			return backdating()
		}
		id, debits := endOrReversal(posting)
		_, err = a.permitEndOrReversal(r.ctx(), r, id, debits)
	default:
		err = errors.New("a request of a user without a rule")
	}
	r.isPermitted = err == nil
	return err
}

// checkRole reads the caller's right on the account or in the group of the path, and returns nil if it suffices. For
// callers without any role, the account or the group does not exist.
func (r *request) checkRole(ctx context.Context) (err error) {
	defer recoverTo(&err)
	name, where, absent := r.ids["account"], "on the account", ledger.AccountNotFound
	read := func() (map[string]access.Right, error) {
		return r.accountRights(ctx, map[string]access.Role{name: max(r.rule.role, r.route.tells)})
	}
	if r.rule.of == client.OnGroup {
		name, where, absent = r.ids["group"], "in the group", ledger.GroupNotFound
		read = func() (map[string]access.Right, error) { return r.groupRights(ctx, name) }
	}
	held, err := read()
	r.right = held[name]
	switch role := r.right.Role; {
	case err != nil:
		return err
	case role == access.None:
		return absent()
	case role < r.rule.role:
		return forbidden(r.rule.role, fmt.Sprintf("This request needs the role %s %s.", r.rule.role, where))
	}
	return nil
}

// permitPosting checks the rules over several fields, and then the caller's roles on the accounts that are debited.
func (r *request) permitPosting(p ledger.Request) error {
	if err := ledger.Check(p); err != nil {
		return err
	}
	roles, err := r.accountRights(r.ctx(), needsOf(p, r.rule.role))
	if err != nil {
		return err
	}
	return mayPost(p, roles, r.rule.role)
}

func administratorsOnly() error {
	return forbidden(access.Administrator, "Only services and administrators may do this.")
}

// backdating returns the problem of a user who sets an effective date.
func backdating() error {
	return forbidden(access.Administrator, "Only services and administrators may set an effective date.",
		fieldError{Field: "effective_at", Rule: ruleRole(access.Administrator)})
}

// needsOf returns the accounts that a posting debits or gives a cost, with the role that is needed on them.
func needsOf(p ledger.Request, needed access.Role) map[string]access.Role {
	needs := make(map[string]access.Role)
	for _, account := range ledger.Debited(p) {
		needs[account] = needed
	}
	return needs
}

// mayPost returns nil if the caller has the needed role on all accounts that a posting debits or gives a cost. Accounts
// on which the caller has no role do not exist for the caller. roles may have those of other accounts, too.
func mayPost(p ledger.Request, roles map[string]access.Right, needed access.Role) error {
	if ledger.IsBackdated(p) {
		return backdating()
	}
	needs := ledger.Debited(p)
	below := func(role access.Role) func(string) bool {
		return func(account string) bool { return slices.Contains(needs, account) && roles[account].Role < role }
	}
	if err := ledger.AccountsNotFound(p, below(access.Viewer)); err != nil {
		return err
	}
	if fields := ledger.AccountFields(p, below(needed), ruleRole(needed)); len(fields) > 0 {
		return forbidden(needed, "This request needs a stronger role on an account that it debits or gives a cost.",
			fieldErrors(fields)...)
	}
	return nil
}

// permitBatch checks each valid request of a batch as permit does, and sets its problem if it is refused. If a request
// of an atomic batch is invalid, permitBatch does not check roles. A batch that has too many postings, or that needs
// roles on more than accountsMax accounts, is refused as a whole.
func (a *api) permitBatch(r *request, items []*batched, atomic bool) error {
	if r.caller.Admin {
		return nil
	}
	needs, postings := make(map[string]access.Role), 0
	for _, b := range items {
		if b.problem == nil {
			if err := ledger.Check(b.asked); err != nil {
				b.refuse(err)
			}
		}
		if b.problem != nil {
			if atomic {
				return nil // the batch is refused because of this problem
			}
			continue
		}
		maps.Copy(needs, needsOf(b.asked, r.rule.role))
		postings += ledger.BatchPostings(b.asked)
	}
	if err := ledger.CheckBatchPostings(postings); err != nil {
		return err
	}
	if len(needs) > accountsMax {
		return newProblem(ledger.CodeBatchTooLarge, detailTooLarge, fieldError{Field: "requests",
			Rule: fmt.Sprintf("must debit or give a cost to at most %d accounts, not %d", accountsMax, len(needs))})
	}
	roles, err := r.accountRights(r.ctx(), needs)
	if err != nil {
		return err
	}
	r.isPermitted = true
	for _, b := range items {
		if b.problem == nil {
			if err := mayPost(b.asked, roles, r.rule.role); err != nil {
				b.refuse(err)
			}
		}
	}
	return a.permitEnds(r.ctx(), items, accountsMax-len(needs))
}

const detailTooLarge = "The batch is too large; see errors."

// permitEnds checks the valid requests of a user's batch that end or reverse a transaction, one after the other. left
// is on how many more accounts the batch may read roles. A transaction counts as its postings. One that the user may
// not see counts as the largest one, so that the answer tells nothing of it. If a check fails, the later requests for
// the same transaction fail, too: the ledger would carry them out without the first one.
func (a *api) permitEnds(ctx context.Context, items []*batched, left int) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	failed := make(map[string]error) // by transaction
	for _, b := range items {
		id, debits := endOrReversal(b.asked)
		if b.problem != nil || debits == nil {
			continue
		}
		if err := failed[id]; err != nil {
			b.refuse(err)
			continue
		}
		if left < events.PostingsMax {
			return newProblem(ledger.CodeBatchTooLarge, detailTooLarge, fieldError{Field: "requests",
				Rule: fmt.Sprintf("must need roles on at most %d accounts: split the batch", accountsMax)})
		}
		shown, err := a.permitEndOrReversal(ctx, &b.request, id, debits)
		if err != nil {
			b.refuse(err)
		}
		if b.problem != nil && b.problem.Status >= http.StatusInternalServerError {
			failed[id] = err
		}
		if left -= shown; shown == 0 {
			left -= events.PostingsMax
		}
	}
	return nil
}

// endOrReversal returns the id of the transaction that a request of a batch ends or reverses, and whether that debits
// the account of a leg. debits is nil for a request that posts a new transaction.
func endOrReversal(asked ledger.Request) (id string, debits func(events.TransactionPosted, int) bool) {
	switch c := asked.(type) {
	case ledger.CaptureRequest:
		return c.Transaction, debitedByHold
	case ledger.ReleaseRequest:
		return c.Transaction, debitedByHold
	case ledger.ReverseRequest:
		return c.Transaction, debitedBy(c.Part)
	}
	return "", nil
}
