package dynamo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire/wiretest"
	"ledger.example/projections"
	"ledger.example/projections/dynamo"
)

var (
	jane = projections.Key{Account: "jane", Asset: "USD"}
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// A refold is exact only if it sees every committed posting: each of its reads is strongly consistent or a transaction,
// of the table itself, and one request.
func TestEveryReadOfViewsIsStrong(t *testing.T) {
	id := events.FirstKSUID(noon)
	for name, read := range map[string]func(context.Context, *dynamo.Views) error{
		"Balance": func(ctx context.Context, v *dynamo.Views) error { _, _, err := v.Balance(ctx, jane); return err },
		"Summary": func(ctx context.Context, v *dynamo.Views) error { _, err := v.Summary(ctx, "jane"); return err },
		"Postings": func(ctx context.Context, v *dynamo.Views) error {
			_, _, err := v.Postings(ctx, jane, "", "")
			return err
		},
		"SegmentFrom": func(ctx context.Context, v *dynamo.Views) error { _, err := v.SegmentFrom(ctx, jane, id); return err },
		"Together":    func(ctx context.Context, v *dynamo.Views) error { _, _, err := v.Together(ctx, jane, id); return err },
		"NextAsset":   func(ctx context.Context, v *dynamo.Views) error { _, err := v.NextAsset(ctx, "jane", ""); return err },
		"NewestGrant": func(ctx context.Context, v *dynamo.Views) error {
			_, err := v.NewestGrant(ctx, "jane", "ann")
			return err
		},
		"Accounts": func(ctx context.Context, v *dynamo.Views) error { _, _, _, err := v.Accounts(ctx, ""); return err },
		"NextOf": func(ctx context.Context, v *dynamo.Views) error {
			_, err := v.NextOf(ctx, "jane", projections.ByGrants, "")
			return err
		},
		"StoredSegments": func(ctx context.Context, v *dynamo.Views) error {
			_, _, err := v.StoredSegments(ctx, jane, "")
			return err
		},
		"Snapshot": func(ctx context.Context, v *dynamo.Views) error {
			_, _, _, err := v.Snapshot(ctx, jane, nil)
			return err
		},
		"Snapshot of segments": func(ctx context.Context, v *dynamo.Views) error {
			_, _, _, err := v.Snapshot(ctx, jane, []events.KSUID{id})
			return err
		},
		"SnapshotAccount": func(ctx context.Context, v *dynamo.Views) error {
			_, _, _, err := v.SnapshotAccount(ctx, "jane", []string{"USD"})
			return err
		},
		"StoredMembership": func(ctx context.Context, v *dynamo.Views) error {
			_, err := v.StoredMembership(ctx, "jane", "ann")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, client := wiretest.New(t, func(r wiretest.Request) wiretest.Reply {
				if r.Operation == "TransactGetItems" {
					return wiretest.OK(`{"Responses":[{},{}]}`)
				}
				return wiretest.OK(`{"Items":[]}`)
			})
			if err := read(t.Context(), dynamo.NewViews(client, "books")); err != nil && !errors.Is(err, table.ErrAbsent) {
				t.Fatal(err)
			}
			requests := store.Requests()
			if len(requests) != 1 {
				t.Fatalf("%d requests", len(requests))
			}
			r := requests[0]
			if r.Operation != "TransactGetItems" && r.Body["ConsistentRead"] != true {
				t.Errorf("%s is not strongly consistent: %v", r.Operation, r.Body)
			}
			if r.Body["IndexName"] != nil {
				t.Errorf("reads the index %v", r.Body["IndexName"])
			}
		})
	}
}

// A conflict of a transactional read is told from a store that cannot answer.
func TestTogetherMeetsATransaction(t *testing.T) {
	_, client := wiretest.New(t, wiretest.Always(wiretest.Reply{Status: 400, Body: `{"__type":"x#TransactionCanceledException",` +
		`"Message":"x","CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"None"}]}`}))
	if _, _, err := dynamo.NewViews(client, "books").Together(t.Context(), jane, events.FirstKSUID(noon)); !errors.Is(err, table.ErrConflict) {
		t.Errorf("error %v", err)
	}
}

// Pages follow a store that cuts them: also one that is cut is not the end.
func TestACutPageIsNotTheEnd(t *testing.T) {
	id := events.FirstKSUID(noon)
	item := `{"SK":{"S":"POSTING#USD#` + string(id) + `"},"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Quantity":{"N":"5"},"Cost":{"N":"-7"}}`
	for last, wanted := range map[string]bool{
		`,"LastEvaluatedKey":{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"POSTING#USD#` + string(id) + `"}}`: true,
		``: false,
	} {
		_, client := wiretest.New(t, wiretest.Always(wiretest.OK(`{"Items":[`+item+`]`+last+`}`)))
		postings, more, err := dynamo.NewViews(client, "books").Postings(t.Context(), jane, "", "")
		if err != nil || more != wanted || len(postings) != 1 ||
			postings[0] != (projections.Posting{ID: id, Quantity: events.NewAmount(5), Cost: events.NewAmount(-7)}) {
			t.Errorf("%+v, more %v: %v", postings, more, err)
		}
	}
}

// A posting that a fold cannot trust stops it.
func TestMalformedPostingsAreRefused(t *testing.T) {
	const sk = `"SK":{"S":"POSTING#USD#0000000000000000000000000Ab"}`
	for name, item := range map[string]string{
		"another asset's":   `{"SK":{"S":"POSTING#EUR#0000000000000000000000000Ab"},"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Quantity":{"N":"5"},"Cost":{"N":"0"}}`,
		"no KSUID":          `{"SK":{"S":"POSTING#USD#x"},"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Quantity":{"N":"5"},"Cost":{"N":"0"}}`,
		"another type":      `{` + sk + `,"Type":{"S":"Balance"},"V":{"N":"1"},"Quantity":{"N":"5"},"Cost":{"N":"0"}}`,
		"an unknown form":   `{` + sk + `,"Type":{"S":"PostingRecorded"},"V":{"N":"9"},"Quantity":{"N":"5"},"Cost":{"N":"0"}}`,
		"no quantity":       `{` + sk + `,"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Cost":{"N":"0"}}`,
		"a text for a cost": `{` + sk + `,"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Quantity":{"N":"5"},"Cost":{"S":"0"}}`,
		"a broken quantity": `{` + sk + `,"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Quantity":{"N":"5.5"},"Cost":{"N":"0"}}`,
	} {
		_, client := wiretest.New(t, wiretest.Always(wiretest.OK(`{"Items":[`+item+`]}`)))
		if p, _, err := dynamo.NewViews(client, "books").Postings(t.Context(), jane, "", ""); err == nil {
			t.Errorf("%s came back as %+v", name, p)
		}
	}
}

// Every write of a balance or a summary compares its version; it is one plain put when it is the balance alone.
func TestWritesCompareVersions(t *testing.T) {
	store, client := wiretest.New(t, wiretest.Always(wiretest.OK("{}")))
	views := dynamo.NewViews(client, "books")
	segment := projections.Segment{Key: jane, Fold: projections.Fold{Through: events.FirstKSUID(noon), Count: 256}}
	for _, c := range []projections.Change{
		{Balance: projections.Balance{Key: jane}},
		{Balance: projections.Balance{Key: jane, Version: 7}},
		{Balance: projections.Balance{Key: jane, Version: 7}, Segments: []projections.Segment{segment}},
		{Balance: projections.Balance{Key: jane}, Summary: &projections.Summary{Account: "jane", Version: 3}},
	} {
		if err := views.Write(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	r := store.Requests()
	puts := func(r wiretest.Request) (all []map[string]any) {
		if r.Operation == "PutItem" {
			return []map[string]any{r.Body}
		}
		for _, action := range r.Body["TransactItems"].([]any) {
			all = append(all, action.(map[string]any)["Put"].(map[string]any))
		}
		return all
	}
	for i, wanted := range []struct {
		operation string
		puts      []string // condition, version compared, version stored; a segment has none
	}{
		{"PutItem", []string{"attribute_not_exists(PK)||1"}},
		{"PutItem", []string{"#version = :version|7|8"}},
		{"TransactWriteItems", []string{"#version = :version|7|8", "||"}},
		{"TransactWriteItems", []string{"attribute_not_exists(PK)||1", "#version = :version|3|4"}},
	} {
		if r[i].Operation != wanted.operation {
			t.Errorf("change %d was a %s", i, r[i].Operation)
		}
		for j, put := range puts(r[i]) {
			got := stringOf(put["ConditionExpression"]) + "|" + numberIn(put["ExpressionAttributeValues"], ":version") +
				"|" + numberIn(put["Item"], "Version")
			if j >= len(wanted.puts) || got != wanted.puts[j] {
				t.Errorf("put %d of change %d: %s", j, i, got)
			}
		}
	}
	if err := views.Write(t.Context(), projections.Change{Segments: make([]projections.Segment, projections.SegmentsMax+1)}); err == nil {
		t.Error("more segments than a transaction can hold")
	}
	if n := len(store.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

func stringOf(v any) string { s, _ := v.(string); return s }

func numberIn(item any, name string) string {
	values, _ := item.(map[string]any)
	value, _ := values[name].(map[string]any)
	return stringOf(value["N"])
}

// What a rebuild writes is on the condition that the item is still what was read, also where that has no version.
func TestMendsCompareMarks(t *testing.T) {
	for stored, wanted := range map[string]string{
		`{}`:                         "attribute_not_exists(PK)||",
		`{"Version":{"N":"7"}}`:      "#mark = :mark||7",
		`{"Version":{"S":"x"}}`:      "attribute_type(#mark, :type)|S|",
		`{"Version":{"NULL":true}}`:  "attribute_type(#mark, :type)|NULL|",
		`{"Version":{"L":[]}}`:       "attribute_type(#mark, :type)|L|",
		`{"Version":{"M":{}}}`:       "attribute_type(#mark, :type)|M|",
		`{"Version":{"BOOL":false}}`: "attribute_type(#mark, :type)|BOOL|",
		`{"Version":{"NS":["1"]}}`:   "attribute_type(#mark, :type)|NS|",
		`{"Type":{"S":"Balance"}}`:   "attribute_exists(PK) AND attribute_not_exists(#mark)||",
	} {
		store, client := wiretest.New(t, func(r wiretest.Request) wiretest.Reply {
			if r.Operation == "GetItem" {
				return wiretest.OK(`{"Item":` + stored + `}`)
			}
			return wiretest.OK("{}")
		})
		views := dynamo.NewViews(client, "books")
		found, _, _, err := views.Snapshot(t.Context(), jane, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found.There != (stored != `{}`) || found.There != (found.Fault != nil) {
			t.Errorf("%s was found as %+v", stored, found)
		}
		if err := views.Write(t.Context(), projections.Change{Balance: projections.Balance{Key: jane, Version: 100}, Mark: &found.Mark}); err != nil {
			t.Fatal(err)
		}
		put := store.Requests()[1].Body
		values, _ := put["ExpressionAttributeValues"].(map[string]any)
		kind, _ := values[":type"].(map[string]any)
		got := stringOf(put["ConditionExpression"]) + "|" + stringOf(kind["S"]) + "|" + numberIn(values, ":mark")
		if got != wanted || numberIn(put["Item"], "Version") != "101" {
			t.Errorf("%s: %s, wanted %s; stored version %s", stored, got, wanted, numberIn(put["Item"], "Version"))
		}
	}
}

// What failed tells whether the balance may have been written.
func TestWriteFailures(t *testing.T) {
	alone := projections.Change{Balance: projections.Balance{Key: jane, Version: 1}}
	together := projections.Change{Balance: alone.Balance, Summary: &projections.Summary{Account: "jane"}}
	for _, c := range []struct {
		change projections.Change
		reply  wiretest.Reply
		wanted error
	}{
		{alone, wiretest.Refusal(400, "ConditionalCheckFailedException", "x"), table.ErrConflict},
		{alone, wiretest.Refusal(400, "TransactionConflictException", "x"), table.ErrConflict},
		{alone, wiretest.Refusal(400, "ThrottlingException", "x"), table.ErrThrottled},
		{alone, wiretest.Refusal(500, "InternalServerError", "x"), table.ErrUnknownOutcome},
		{together, wiretest.Reply{Status: 400, Body: `{"__type":"x#TransactionCanceledException","Message":"x",` +
			`"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed"}]}`}, table.ErrConflict},
		{together, wiretest.Refusal(500, "InternalServerError", "x"), table.ErrUnknownOutcome},
	} {
		store, client := wiretest.New(t, wiretest.Always(c.reply))
		if err := dynamo.NewViews(client, "books").Write(t.Context(), c.change); !errors.Is(err, c.wanted) {
			t.Errorf("error %v, wanted %v", err, c.wanted)
		}
		if n := len(store.Requests()); n != 1 {
			t.Errorf("%v: sent %d times", c.wanted, n)
		}
	}
}

// A membership that is newer is no failure; one that is revoked is put without its place in the inverse index.
func TestMemberships(t *testing.T) {
	reply := wiretest.OK("{}")
	store, client := wiretest.New(t, func(wiretest.Request) wiretest.Reply { return reply })
	views := dynamo.NewViews(client, "books")
	m := projections.Membership{Account: "jane", User: "ann", Role: events.RoleViewer, Number: 1}
	for _, role := range []events.Role{events.RoleViewer, ""} {
		m.Role = role
		if err := views.WriteMembership(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	r := store.Requests()
	for i, indexed := range []bool{true, false} {
		if _, there := r[i].Body["Item"].(map[string]any)["PK2"]; there != indexed {
			t.Errorf("membership %d is in the inverse index: %v", i, there)
		}
	}
	reply = wiretest.Refusal(400, "ConditionalCheckFailedException", "x")
	if err := views.WriteMembership(t.Context(), m); err != nil {
		t.Errorf("a newer one is there: %v", err)
	}
	reply = wiretest.Refusal(400, "TransactionConflictException", "x")
	if err := views.WriteMembership(t.Context(), m); !errors.Is(err, table.ErrConflict) {
		t.Errorf("a conflict: %v", err)
	}
}

// A full page of postings as the store sends it, decoded.
func BenchmarkPostings(b *testing.B) {
	ids, _, err := events.NewMinter(nil, nil).Mint(1000)
	if err != nil {
		b.Fatal(err)
	}
	body := `{"Items":[`
	for i, id := range ids {
		if i > 0 {
			body += ","
		}
		body += `{"SK":{"S":"POSTING#USD#` + string(id) + `"},"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Quantity":{"N":"-2500"},"Cost":{"N":"150000"}}`
	}
	_, client := wiretest.New(b, wiretest.Always(wiretest.OK(body+`]}`)))
	views := dynamo.NewViews(client, "books")
	b.ReportAllocs()
	for b.Loop() {
		if p, _, err := views.Postings(b.Context(), jane, "", ""); err != nil || len(p) != len(ids) {
			b.Fatal(len(p), err)
		}
	}
	b.ReportMetric(float64(b.N*len(ids))/b.Elapsed().Seconds(), "postings/s")
}

// Even a balance of the longest ids and the largest figures is written for one unit, and none in an index.
func TestBalancesAreSmall(t *testing.T) {
	store, client := wiretest.New(t, wiretest.Always(wiretest.OK("{}")))
	longest := strings.Repeat("x", events.IDChars)
	id, most := events.FirstKSUID(noon), events.MaxFolded()
	fold := projections.Fold{Through: id, Credits: most, Debits: most, Expenditure: most.Neg(), Count: 1e12}
	b := projections.Balance{
		Key: projections.Key{Account: longest, Asset: longest}, Version: 1e12, Seal: fold, Head: fold, First: id, Unfinished: true,
	}
	views := dynamo.NewViews(client, "books")
	for _, b.Base = range []projections.Fold{{}, fold} {
		if err := views.Write(t.Context(), projections.Change{Balance: b}); err != nil {
			t.Fatal(err)
		}
	}
	sent := store.Requests()
	before, after := sized(t, sent[0].Body["Item"]), sized(t, sent[1].Body["Item"])
	if units := table.WriteUnits(table.Write{Before: before, After: after}, table.Indexes()...); units != 1 {
		t.Errorf("%d bytes, %d units", after.Bytes(), units)
	}
}

// sized returns a sent item as the cost model has it.
func sized(t *testing.T, sent any) table.Item {
	t.Helper()
	item := make(table.Item)
	for name, typed := range sent.(map[string]any) {
		for kind, v := range typed.(map[string]any) {
			switch kind {
			case "S":
				item[name] = table.String(v.(string))
			case "N":
				item[name] = table.Number(v.(string))
			case "BOOL":
				item[name] = table.Bool(v.(bool))
			case "M":
				item[name] = table.Map(sized(t, v))
			default:
				t.Fatalf("%s is a %s", name, kind)
			}
		}
	}
	return item
}
