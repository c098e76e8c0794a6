package audit

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"ledger.example/internal/table"
)

// checkChanges compares the changes of an account with each other and with what the account is now. It returns the
// account with the highest limits that it ever had.
func (a *Audit) checkChanges(ctx context.Context, of account, p partition) account {
	now, found := a.changed(ctx, of, p.current, p.families[changes].next)
	if len(found) > 0 {
		a.confirm(ctx, memberRounds, memberPause, func() []Finding {
			key := table.CurrentKey(of.id)
			now, found = a.changed(ctx, of, a.get(ctx, key), a.itemsOf(key.PK, table.ChangesBefore(0)))
			return found
		})
	}
	return now
}

// changed goes through the changes of an account, which were read after what it is now. The account that it returns is
// not known if a change cannot be read.
func (a *Audit) changed(ctx context.Context, of account, item attributes, changes items) (
	_ account, found []Finding,
) {
	stored, isThere := as[current](item)
	readable := of.known && (isThere || len(item) == 0)
	for item := range changes.all(ctx) {
		key := keyOf(item)
		_, number, _ := table.ParseChange(key)
		c, can := as[change](item)
		readable = readable && can
		if missing := of.version + 1; missing < number { // one finding for a gap, by its first number
			found = append(found, Finding{ChangeMissing, table.ChangeKey(of.id, missing), "", absent,
				"a change: there is one of number " + strconv.FormatInt(number, 10)})
		}
		if c.unlimited != of.unlimited || !of.closedAt.IsZero() {
			found = append(found, Finding{ChangeImpossible, key, "", c.String(),
				"no such change of an account that is " + of.String()})
		}
		of.become(c, number)
	}
	if !readable {
		of.known = false
		return of, nil // the scan reports it
	}
	is, ought := "the account as it was opened", of.String()
	if isThere {
		is = stored.of.String()
	}
	switch {
	case isThere && stored.of.number > of.version:
		found = append(found, Finding{ChangeMissing, table.ChangeKey(of.id, stored.of.number), "", absent, is})
	case isThere && stored.of.checksum != of.checksum, !isThere && of.version > 1:
		found = append(found, Finding{AccountCurrentWrong, table.CurrentKey(of.id), "", is, ought})
	}
	return of, found
}

// limitsKept bounds the limits of one account, over all its versions, that are kept. An account with more is not judged
// by them.
const limitsKept = 10_000

// become makes the account what a change says, with the higher one of two limits.
func (a *account) become(c change, number int64) {
	limits := maps.Clone(c.limits)
	for asset, limit := range a.limits {
		if higher := limits[asset]; higher == nil || higher.Cmp(limit) < 0 {
			if limits == nil {
				limits = maps.Clone(a.limits)
			}
			limits[asset] = limit
		}
	}
	a.limits, a.version, a.changedAt, a.checksum = limits, number, c.at, c.checksum
	a.known = a.known && len(limits) <= limitsKept
	if c.state == closed && a.closedAt.IsZero() {
		a.closedAt = c.at
	}
}

// refreshed returns an account with the changes that it got since it was read.
func (a *Audit) refreshed(ctx context.Context, of account) account {
	if !of.known || of.unlimited {
		return of // nothing is judged by its limits
	}
	newer := table.Range{From: table.ChangeKey(of.id, of.version+1).SK, To: table.ChangesBefore(0).To}
	for item := range a.itemsOf(table.AccountKey(of.id).PK, newer).all(ctx) {
		_, number, _ := table.ParseChange(keyOf(item))
		c, can := as[change](item)
		of.become(c, number)
		of.known = of.known && can
	}
	return of
}

// String returns an account as findings show it.
func (a account) String() string {
	s := fmt.Sprintf("of version %d, unlimited %t, checksum %s", a.version, a.unlimited, a.checksum)
	if !a.closedAt.IsZero() {
		s += ", closed"
	}
	return s
}

func (c change) String() string {
	return fmt.Sprintf("of version %d, unlimited %t, checksum %s, %s", c.number, c.unlimited, c.checksum, c.state)
}
