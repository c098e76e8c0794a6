package projections_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
	"ledger.example/projections"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Refolds are correct only if they see every committed posting. So each read of Views is one request to the table, not
// to an index, and is strongly consistent or a transaction.
func TestReadsOfViewsAreStronglyConsistent(t *testing.T) {
	fake, client := storetest.New(t, func(r storetest.Request) storetest.Reply {
		if r.Operation == "TransactGetItems" {
			return storetest.OK(`{"Responses":[{},{}]}`)
		}
		return storetest.OK(`{"Items":[]}`)
	})
	reads := errorsOfReads(t.Context(), projections.NewViews(store.NewTable(client, "books")))
	requests := fake.Requests()
	if len(requests) != len(reads) {
		t.Errorf("%d reads made %d requests", len(reads), len(requests))
	}
	for _, r := range requests {
		isStrong := strings.Contains(fmt.Sprint(r.Body), "ConsistentRead:true")
		if r.Operation != "TransactGetItems" && !isStrong || r.Body["IndexName"] != nil {
			t.Errorf("%s is not strongly consistent, or reads an index: %v", r.Operation, r.Body)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	over := errorsOfReads(ctx, projections.NewViews(store.NewTable(client, "books")))
	for i, err := range reads {
		if err != nil && !errors.Is(err, store.ErrAbsent) {
			t.Errorf("read %d: %v", i, err)
		}
		if over[i] == nil || errors.Is(over[i], store.ErrAbsent) {
			t.Errorf("read %d with a canceled context: %v", i, over[i])
		}
	}
}

// errorsOfReads calls each read once.
func errorsOfReads(ctx context.Context, v *projections.Views) []error {
	id := events.FirstKSUID(noon)
	_, _, balance := v.Balance(ctx, jane)
	_, summary := v.Summary(ctx, "jane")
	_, _, postings := v.FoldOn(ctx, jane, projections.Fold{}, "")
	_, segment := v.SegmentFrom(ctx, jane, id)
	_, _, both := v.BalanceWithSegment(ctx, jane, id)
	_, asset := v.NextAsset(ctx, "jane", "")
	var segments error
	for _, err := range v.Segments(ctx, jane, "") {
		segments = err
	}
	all := []error{balance, summary, postings, segment, both, asset, segments}
	for _, view := range projections.Declared {
		_, err := view.Fold(ctx, v, projections.Target{Account: "jane", User: "ann", Hold: "h-1"}, projections.Seen{})
		all = append(all, err)
	}
	return all
}

// NextAsset finds the assets of an account after malformed keys.
func TestNextAssetSkipsMalformedKeys(t *testing.T) {
	id := string(events.FirstKSUID(noon))
	for _, c := range []struct{ sks, wanted string }{
		{"", ""},
		{"POSTING#bad", ""},
		{"POSTING#A#x", ""},
		{"POSTING#USD POSTING#USD#" + id, "USD"}, // the malformed key is a prefix of the asset's keys
		{"POSTING#A#x POSTING#A#" + id, "A"},
		{"POSTING#A#" + id + "#x POSTING#B POSTING#C#" + id + " POSTING#D#" + id, "C"},
	} {
		b := newBook(t)
		for _, sk := range strings.Fields(c.sks) {
			_, err := b.Table.Write(t.Context(), store.Write{Item: store.KeyItem(store.Key{PK: "ACCOUNT#jane", SK: sk})})
			b.Must(err)
		}
		asset, err := b.NextAsset(t.Context(), "jane", "")
		if asset != c.wanted || (c.wanted == "") != errors.Is(err, store.ErrAbsent) {
			t.Errorf("%q: %q, %v; wanted %q", c.sks, asset, err, c.wanted)
		}
	}
}

// The error of a write distinguishes writes that failed from those that may have been applied.
func TestErrorsOfWrites(t *testing.T) {
	alone := projections.Change{Balance: projections.Balance{Pair: jane, Version: 1}}
	together := projections.Change{Balance: alone.Balance, Summary: &projections.Summary{Account: "jane"}}
	for _, c := range []struct {
		change projections.Change
		reply  storetest.Reply
		wanted error
	}{
		{alone, storetest.Refusal(400, "ConditionalCheckFailedException", "x"), store.ErrConflict},
		{alone, storetest.Refusal(400, "TransactionConflictException", "x"), store.ErrConflict},
		{alone, storetest.Refusal(400, "ThrottlingException", "x"), store.ErrThrottled},
		{alone, storetest.Refusal(500, "InternalServerError", "x"), store.ErrUnknownOutcome},
		{together, storetest.Reply{Status: 400, Body: `{"__type":"x#TransactionCanceledException","Message":"x",` +
			`"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed"}]}`}, store.ErrConflict},
		{together, storetest.Refusal(500, "InternalServerError", "x"), store.ErrUnknownOutcome},
	} {
		fake, client := storetest.New(t, storetest.Always(c.reply))
		if err := projections.NewViews(store.NewTable(client, "books")).Write(t.Context(), c.change); !errors.Is(err, c.wanted) {
			t.Errorf("error %v, wanted %v", err, c.wanted)
		}
		if n := len(fake.Requests()); n != 1 {
			t.Errorf("%v: sent %d times", c.wanted, n)
		}
	}
}

// With a canceled context no write sends a request.
func TestNoWriteAfterTheContextEnds(t *testing.T) {
	fake, client := storetest.New(t, storetest.Always(storetest.OK("{}")))
	views := projections.NewViews(store.NewTable(client, "books"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	balance, m := projections.Balance{Pair: jane}, projections.Membership{Account: "jane", User: "ann", Number: 1}
	summary := projections.Summary{Account: "jane"}
	for i, err := range []error{
		views.Write(ctx, projections.Change{Balance: balance}),
		views.Write(ctx, projections.Change{Balance: balance, Summary: &summary}),
		views.Show(ctx, projections.Members, m),
	} {
		if err == nil || len(fake.Requests()) > 0 {
			t.Errorf("write %d: error %v, %d requests", i, err, len(fake.Requests()))
		}
	}
}

// figuresOf is DynamoDB's JSON of a posting's projection by figures.
func figuresOf(p events.PostingRecorded) string {
	description := ""
	if p.Description != "" {
		description = fmt.Sprintf(`,"Description":{"S":%q}`, p.Description)
	}
	return fmt.Sprintf(`{"SK":{"S":"POSTING#%s#%s"},"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Checksum":{"S":%q},`+
		`"Quantity":{"N":"%s"},"Cost":{"N":"%s"},"Transaction":{"S":%q},"Kind":{"S":%q}%s}`,
		p.Asset, p.ID, events.Checksum(p), p.Quantity, p.Cost, p.Transaction, p.Kind, description)
}

// A posting that was altered in the table fails its checksum and is never counted.
func TestAlteredPostingsAreRefused(t *testing.T) {
	p := events.PostingRecorded{
		Leg: events.Leg{
			ID: events.FirstKSUID(noon), Account: jane.Account, Asset: jane.Asset, Quantity: events.NewAmount(25),
			Cost: events.NewAmount(-7),
		},
		Transaction: "t-1", Kind: events.KindTrade, Description: "ten",
	}
	sound := figuresOf(p)
	ask := func(item string) (postings []projections.Posting, err error) {
		_, client := storetest.New(t, storetest.Always(storetest.OK(`{"Items":[`+item+`]}`)))
		var p projections.Posting
		for p, err = range projections.NewViews(store.NewTable(client, "books")).Postings(t.Context(), jane, "", "") {
			postings = append(postings, p)
		}
		return postings, err
	}
	if postings, err := ask(sound); err != nil || len(postings) != 1 || postings[0].Quantity != p.Quantity ||
		postings[0].Cost != p.Cost {
		t.Fatalf("%+v, %v", postings, err)
	}
	for _, change := range [][2]string{
		{`"N":"25"`, `"N":"26"`}, {`"N":"-7"`, `"N":"0"`}, {`"t-1"`, `"t-2"`}, {`"trade"`, `"transfer"`}, {`"ten"`,
			`"two"`},
		{string(p.ID), string(events.FirstKSUID(noon.Add(time.Hour)))}, {events.Checksum(p),
			events.Checksum(events.PostingRecorded{})},
		{fmt.Sprintf(`"Checksum":{"S":%q},`, events.Checksum(p)), ""},
	} {
		altered := strings.Replace(sound, change[0], change[1], 1)
		if postings, err := ask(altered); altered == sound || !errors.Is(err, events.ErrChecksum) {
			t.Errorf("%s was read as %+v, %v", altered, postings, err)
		}
	}
}
