package events_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

// The figures are those of the whole event, refused whenever it is.
func TestDecodeFigures(t *testing.T) {
	stored := func(e events.Event) events.StoredPosting {
		p := e.(events.PostingRecorded)
		s := events.StoredPosting{
			Name: e.EventName(), Version: events.Form, Checksum: events.Checksum(e),
			Account: p.Account, Asset: p.Asset, ID: string(p.ID), Phase: string(p.Phase),
			Quantity: events.Number(p.Quantity.String()), Cost: events.Number(p.Cost.String()),
			Transaction: p.Transaction, Kind: string(p.Kind), Description: p.Description, Backdated: p.Backdated,
		}
		if p.Phase != "" {
			s.Pending = events.Number(p.Pending.String())
		}
		return s
	}
	usual := stored(golden["PostingRecorded.v1.json"])
	if n := testing.AllocsPerRun(100, func() { _, _ = events.DecodeFigures(usual) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	drawn := rapid.Map(eventstest.PostingRecorded(), stored)
	rapid.Check(t, func(t *rapid.T) {
		s, other := drawn.Draw(t, "stored"), drawn.Draw(t, "other")
		digits := rapid.Map(rapid.OneOf(rapid.StringMatching(`[+-]?[0-9]{0,40}(e[0-9])?`), rapid.SampledFrom([]string{"", "0", "-0", "١"})),
			func(text string) events.Number { return events.Number(text) })
		change := func(what string, do func()) {
			if rapid.IntRange(0, 2).Draw(t, what) == 0 {
				do()
			}
		}
		change("checksum", func() { s.Checksum = other.Checksum })
		change("other", func() {
			rapid.SampledFrom([]func(){
				func() { s.Account = other.Account }, func() { s.Asset = other.Asset }, func() { s.ID = other.ID },
				func() { s.Transaction = other.Transaction }, func() { s.Kind = other.Kind },
				func() { s.Description = other.Description }, func() { s.Backdated = !s.Backdated },
				func() { s.Quantity = other.Quantity }, func() { s.Cost = other.Cost },
				func() { s.Pending = other.Pending }, func() { s.Phase = other.Phase },
			}).Draw(t, "field")()
		})
		change("quantity", func() { s.Quantity = digits.Draw(t, "digits") })
		change("cost", func() { s.Cost = digits.Draw(t, "digits") })
		change("pending", func() { s.Pending = digits.Draw(t, "digits") })
		change("version", func() { s.Version = rapid.IntRange(-1, 3).Draw(t, "number") })
		change("name", func() { s.Name = rapid.SampledFrom([]string{"", "Nonsense", "MemberGranted"}).Draw(t, "text") })
		change("recomputed", func() { s.Checksum = events.ChecksumOf(s.Name, s.Fields()) })

		got, err := events.DecodeFigures(s)
		whole, wholeErr := events.Decode(s.Name, s.Version, s.Checksum, s.Fields())
		posting, _ := whole.(events.PostingRecorded)
		for _, kind := range []error{events.ErrMalformedEvent, events.ErrUnknownEvent, events.ErrNewerEvent} {
			if s.Name == "PostingRecorded" && errors.Is(err, kind) != errors.Is(wholeErr, kind) {
				t.Fatalf("%+v: %v; the whole is %v, %v", s, err, whole, wholeErr)
			}
		}
		if (err == nil) != (wholeErr == nil && s.Name == "PostingRecorded") || got != posting.Figures() && err == nil || err != nil && got != (events.Figures{}) {
			t.Fatalf("%+v: %v, %v; the whole is %v, %v", s, got, err, whole, wholeErr)
		}
	})
}
