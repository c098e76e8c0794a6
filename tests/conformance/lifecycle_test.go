package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// hold returns a hold of a transfer of 5 USD, with new KSUIDs.
func (s *suite) hold(name string, until time.Time) events.TransactionPosted {
	s.Helper()
	hold := s.transfer(name, "jane", "shop", "5")
	hold.ExpiresAt = until
	return hold
}

// end returns the end of a hold that posts a quantity, with new KSUIDs.
func (s *suite) end(hold events.TransactionPosted, outcome events.Outcome, quantity string) events.HoldEnded {
	s.Helper()
	ids, _, err := s.minter.Mint(len(hold.Legs))
	s.must(err)
	end := events.HoldEnded{Transaction: hold.ID, Outcome: outcome, Legs: slices.Clone(hold.Legs), Actor: "tester"}
	for i := range end.Legs {
		end.Legs[i].ID, end.Legs[i].Quantity = ids[i], s.amount(quantity)
		if hold.Legs[i].Quantity.Sign() < 0 {
			end.Legs[i].Quantity = s.amount(quantity).Neg()
		}
	}
	return end
}

// wantLifecycle fails the test unless the stored transaction has this lifecycle: its header, end and reversals.
func (s *suite) wantLifecycle(want ledger.Lifecycle) {
	s.Helper()
	got, at, err := s.Lifecycle(s.Context(), want.Header.ID)
	s.must(err)
	s.checkClock(at)
	s.wantEqual(got, want)
}

// A hold ends once. A second end is cancelled, gets the first one, and writes nothing.
func (s *suite) holdEnds() {
	hold := s.hold("h-1", instant)
	_, _, err := s.Lifecycle(s.Context(), hold.ID)
	s.wantError("before it is placed", err, store.ErrAbsent)
	s.mustAppend(hold)
	s.wantStored(hold)
	s.wantLifecycle(ledger.Lifecycle{Header: hold})

	first, second := s.end(hold, events.OutcomeCaptured, "3"), s.end(hold, events.OutcomeReleased, "0")
	_, err = s.VerifyComplete(s.Context(), first, first.Postings(hold))
	s.wantError("before it ends", err, store.ErrAbsent)
	c := ledger.Commit{Heads: []events.Event{first}, Postings: first.Postings(hold)}
	if cancelled := s.commit(c); cancelled != nil {
		s.Fatalf("cancelled: %+v", cancelled)
	}
	for _, other := range []events.HoldEnded{second, s.end(hold, events.OutcomeExpired, "0"), first} {
		cancelled := s.commit(ledger.Commit{Heads: []events.Event{other}, Postings: other.Postings(hold)})
		if cancelled == nil || cancelled.Heads[0].Is != ledger.HeadExists {
			s.Fatalf("ended again: %+v", cancelled)
		}
		s.wantEqual(cancelled.Heads[0].Stored, events.Event(first))
	}
	s.wantLifecycle(ledger.Lifecycle{Header: hold, Ended: &first})
	_, err = s.VerifyComplete(s.Context(), first, first.Postings(hold))
	s.must(err)
	_, err = s.VerifyComplete(s.Context(), second, second.Postings(hold))
	s.wantError("postings of an end that is not there", err, store.ErrAbsent)
	s.wantStored(hold)
}

// Each reversal of a transaction has a number. A second reversal with the same number is cancelled, and writes nothing.
// The cancellation tells a used number from a used id.
func (s *suite) reversals() {
	posted := s.transfer("t-1", "jane", "shop", "50")
	s.mustAppend(posted)
	reversal := func(name string, number int64) (events.TransactionPosted, ledger.Commit) {
		by := s.transfer(name, "shop", "jane", "1")
		by.Kind, by.Reverses = events.KindReversal, posted.ID
		c := ledger.NewCommit(by)
		c.Heads = append(c.Heads, events.TransactionReversed{
			Transaction: posted.ID, Number: number, By: by.ID,
			Taken: []events.Taken{{Quantity: s.amount("-1")}, {Quantity: s.amount("1")}},
		})
		return by, c
	}
	want := ledger.Lifecycle{Header: posted}
	for i := range int64(12) {
		by, c := reversal(fmt.Sprint("r-", i), i+1)
		if cancelled := s.commit(c); cancelled != nil {
			s.Fatalf("cancelled: %+v", cancelled)
		}
		s.wantStored(by)
		want.Reversals = append(want.Reversals, c.Heads[1].(events.TransactionReversed))
	}
	s.wantLifecycle(want)

	late, c := reversal("late", 12)
	cancelled := s.commit(c)
	if cancelled == nil || cancelled.Heads[0].Is != ledger.HeadNone || cancelled.Heads[1].Is != ledger.HeadExists {
		s.Fatalf("under a used number: %+v", cancelled)
	}
	s.wantEqual(cancelled.Heads[1].Stored, events.Event(want.Reversals[11]))
	s.wantAbsent(late)
	_, c = reversal("r-0", 13) // the id of another reversal
	cancelled = s.commit(c)
	if cancelled == nil || cancelled.Heads[0].Is != ledger.HeadExists || cancelled.Heads[1].Is != ledger.HeadNone {
		s.Fatalf("under a used id: %+v", cancelled)
	}
	s.wantLifecycle(want)
}

// Due holds are listed in order of expiry, by shard and page. Holds that have ended and other entries are left out.
func (s *suite) dueHolds(client *dynamodb.Client, name string) {
	base := instant.Add(365 * 24 * time.Hour) // no other test lists holds at that time
	var want [table.Shards][]ledger.DueHold
	for i := range 120 {
		hold := s.hold(fmt.Sprintf("h-%03d", (i*7)%120), base.Add(time.Duration(i)*time.Microsecond))
		if i == 119 {
			hold.ID = s.id("one more of its time")
			hold.ExpiresAt = base.Add(118 * time.Microsecond)
		}
		listed := projections.Hold{Header: hold}
		if i%10 == 9 {
			end := s.end(hold, events.OutcomeReleased, "0")
			s.must(s.views.WriteHold(s.Context(), listed))
			listed.Ended = &end
		} else {
			shard := table.Shard(hold.ID)
			want[shard] = append(want[shard], ledger.DueHold{ID: hold.ID, ExpiresAt: hold.ExpiresAt})
		}
		s.must(s.views.WriteHold(s.Context(), listed))
	}
	for shard := range want {
		slices.SortFunc(want[shard], byExpiry)
		for i := range 150 { // more than a page, before all other entries of this shard
			before := events.FormatTime(base.Add(-time.Second))
			odd := ddb.Key(table.Key{PK: table.Hold.Prefix() + before + fmt.Sprint("!", i), SK: "ODD"})
			odd[table.AttrPK2] = ddb.String(table.OpenHoldsPK2(shard))
			if shard == 0 {
				_, err := client.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: &name, Item: odd})
				s.must(err)
			}
		}
		for _, until := range []int{-1, 0, 50, 118, 1000} {
			last := base.Add(time.Duration(until) * time.Microsecond)
			var got []ledger.DueHold
			for more, after := true, (ledger.DueHold{ExpiresAt: base}); more; {
				var page []ledger.DueHold
				var err error
				page, more, err = s.DueHolds(s.Context(), shard, last, after)
				s.must(err)
				if more && len(page) == 0 {
					s.Fatal("an empty page, and there is more")
				}
				if got = append(got, page...); len(page) > 0 {
					after = page[len(page)-1]
				}
			}
			due := slices.DeleteFunc(slices.Clone(want[shard]),
				func(h ledger.DueHold) bool { return h.ExpiresAt.After(last) })
			got = slices.DeleteFunc(got,
				func(h ledger.DueHold) bool { return h.ExpiresAt.Before(base) }) // of other subtests
			if !slices.Equal(got, due) {
				s.Errorf("shard %d until %d: %v, want %v", shard, until, got, due)
			}
		}
		for _, after := range want[shard] {
			page, more, err := s.DueHolds(s.Context(), shard, base.Add(time.Second), after)
			s.must(err)
			rest := want[shard][slices.Index(want[shard], after)+1:]
			if more || !slices.Equal(page, rest) {
				s.Fatalf("shard %d after %v: %v, %t, want %v", shard, after, page, more, rest)
			}
		}
	}
}

func byExpiry(a, b ledger.DueHold) int {
	return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), strings.Compare(a.ID, b.ID))
}
