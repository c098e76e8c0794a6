package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"ledger.example/internal/access"
	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// checkTimeout bounds the check of a request. What was allowed then may be carried out for as long as a command lives.
const checkTimeout = 3 * time.Second

// forbidden refuses a caller whose role is too weak for what they know to exist.
func forbidden(role access.Role, detail string, fields ...fieldError) *problem {
	p := newProblem(codeForbidden, detail, fields...)
	p.Role = role.String()
	return p
}

// ruleRole is the rule of a field that names what the caller has too weak a role on.
func ruleRole(role access.Role) string { return "needs the role " + role.String() }

// unchecked is the problem of a check that could not be made. Nothing passes.
func unchecked(err error) *problem {
	code := ledger.CodeUnavailable
	if errors.Is(err, store.ErrThrottled) {
		code = ledger.CodeThrottled
	}
	p := newProblem(code, "The caller's roles could not be read; try again shortly.")
	p.cause = err
	return p
}

// roles returns the caller's rights on accounts, each as strong as it is needed at least, or weaker. Services and
// administrators need no check, and must not get here.
func (r *request) roles(ctx context.Context, needs map[string]access.Role) (map[string]access.Right, error) {
	return r.resolve(ctx, func(ctx context.Context, all access.Resolver) (map[string]access.Right, error) {
		return all.Rights(ctx, r.caller.User, needs)
	})
}

// toSee returns the caller's rights on accounts, as strong as reading needs at least.
func (r *request) toSee(ctx context.Context, accounts ...string) (map[string]access.Right, error) {
	needs := make(map[string]access.Role, len(accounts))
	for _, account := range accounts {
		needs[account] = access.Viewer
	}
	return r.roles(ctx, needs)
}

// within returns the caller's rights in groups, as roles does.
func (r *request) within(ctx context.Context, groups ...string) (map[string]access.Right, error) {
	return r.resolve(ctx, func(ctx context.Context, all access.Resolver) (map[string]access.Right, error) {
		return all.Within(ctx, r.caller.User, groups...)
	})
}

// resolve finds out rights of the caller.
func (r *request) resolve(
	ctx context.Context, find func(context.Context, access.Resolver) (map[string]access.Right, error),
) (map[string]access.Right, error) {
	if r.caller.User == "" || r.grants == nil {
		return nil, unchecked(errors.New("a check without a user, or without grants"))
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	roles, err := find(ctx, access.Resolver{Grants: r.grants})
	if err != nil {
		return nil, unchecked(err)
	}
	return roles, nil
}

// begin begins to check the caller, once the shape of a request is sound and before anything is looked up. A read's
// roles are read beside its data: judged waits for them. Where roles depend on what is stored, or on the body, the
// handler checks them: see pass.
func (r *request) begin() error {
	rule := r.rule
	switch {
	case r.caller.Admin, r.passed, r.verdict != nil:
		return nil
	case rule.of == undecided:
		return errors.New("a request of a user without a rule")
	}
	switch rule.of {
	case onNothing:
		r.passed = true
	case onLedger:
		return forbidden(access.Administrator, "Only services and administrators may do this.")
	case onThemselves:
		if r.ids["user"] != r.caller.User {
			return forbidden(access.Administrator, "Users can read only their own accounts and groups.")
		}
		r.passed = true
	case onAccount, onGroup:
		verdict := make(chan error, 1)
		r.verdict = verdict
		ctx := r.http.Context()
		if r.route.writes() {
			err := r.look(ctx)
			verdict <- err
			return err
		}
		// A denial ends the reads under way: how long it takes does not tell what there is to read.
		data, end := context.WithCancel(ctx)
		r.http = r.http.WithContext(data)
		go func() {
			denied := r.look(ctx)
			if denied != nil {
				end()
			}
			verdict <- denied
		}()
		context.AfterFunc(ctx, end)
	}
	return nil
}

// look reads the caller's right on the account or in the group of the path, and returns nil if it is enough. To callers
// without any role, what the path names does not exist.
func (r *request) look(ctx context.Context) (err error) {
	defer recoverTo(&err)
	name, where, absent := r.ids["account"], "on the account", ledger.AccountNotFound
	rights := func() (map[string]access.Right, error) {
		return r.roles(ctx, map[string]access.Role{name: r.rule.role})
	}
	if r.rule.of == onGroup {
		name, where, absent = r.ids["group"], "in the group", ledger.GroupNotFound
		rights = func() (map[string]access.Right, error) { return r.within(ctx, name) }
	}
	held, err := rights()
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

// judged returns what a handler answers if the caller may have it. What was read for a caller without a role is thrown
// away. Nothing leaves without a check.
func (r *request) judged(out reply, err error) (reply, error) {
	if r.caller.Admin || r.passed {
		return out, err
	}
	if r.verdict != nil {
		if denied := <-r.verdict; denied != nil {
			return reply{}, denied
		}
		return out, err
	}
	if err == nil {
		return reply{}, errors.New("a request of a user was answered without a check")
	}
	return reply{}, err
}

// permit checks a write, after its body's shape and before anything that tells what exists.
func (r *request) permit(c command) error {
	if r.caller.Admin {
		return nil
	}
	if faults := c.Shape(); len(faults) > 0 { // which the ledger would check later
		return r.refusal(&ledger.Error{Code: ledger.CodeInvalidRequest, Fields: faults})
	}
	if err := r.begin(); err != nil {
		return err
	}
	switch r.rule.of {
	case onDebited:
		return r.permitPosting(c)
	}
	return nil
}

// permitPosting checks the rules of a posting over several fields, and then the caller's roles on what it debits.
func (r *request) permitPosting(c command) error {
	p, ok := c.(ledger.PostingRequest)
	if !ok {
		return fmt.Errorf("a %T was sent where a posting goes", c)
	}
	if err := ledger.Check(p); err != nil {
		return err
	}
	roles, err := r.roles(r.http.Context(), needsOf(p, r.rule.role))
	if err != nil {
		return err
	}
	r.passed = true
	return mayPost(p, roles, r.rule.role)
}

// backdating refuses a user who gives a time in the past.
func backdating() error {
	return forbidden(access.Administrator, "Only services and administrators may set an effective date.",
		fieldError{Field: "effective_at", Rule: ruleRole(access.Administrator)})
}

// needsOf returns the accounts that a posting debits, each with the role that is needed on it.
func needsOf(p ledger.PostingRequest, needed access.Role) map[string]access.Role {
	needs := make(map[string]access.Role)
	for _, account := range ledger.Debited(p) {
		needs[account] = needed
	}
	return needs
}

// mayPost returns nil if the caller has a role on all that a posting debits. Accounts without any role do not exist.
func mayPost(p ledger.PostingRequest, roles map[string]access.Right, needed access.Role) error {
	if ledger.IsBackdated(p) {
		return backdating()
	}
	missing := func(account string) bool { held, asked := roles[account]; return asked && held.Role == access.None }
	if err := ledger.AccountsNotFound(p, missing); err != nil {
		return err
	}
	weak := func(account string) bool { held, asked := roles[account]; return asked && held.Role < needed }
	if fields := ledger.AccountFields(p, weak, ruleRole(needed)); len(fields) > 0 {
		return forbidden(needed, "This request needs a stronger role on an account that it debits.", fieldErrors(fields)...)
	}
	return nil
}

// permitBatch checks each request of a batch that is sound as permit does, and notes with it why it is refused. Of an
// atomic batch the shape of all comes first.
func (r *request) permitBatch(items []*batched, atomic bool) error {
	if r.caller.Admin {
		return nil
	}
	needs := make(map[string]access.Role)
	for _, b := range items {
		if b.problem == nil {
			if err := ledger.Check(b.posting); err != nil {
				b.problem = problemOf(b.own.refusal(err), true)
			}
		}
		if b.problem != nil {
			if atomic {
				return nil // it is refused for that
			}
			continue
		}
		maps.Copy(needs, needsOf(b.posting, r.rule.role))
	}
	roles, err := r.roles(r.http.Context(), needs)
	if err != nil {
		return err
	}
	r.passed = true
	for _, b := range items {
		if b.problem == nil {
			if err := mayPost(b.posting, roles, r.rule.role); err != nil {
				b.problem = problemOf(err, true)
			}
		}
	}
	return nil
}
