package table

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A range contains exactly the keys of its items in its bounds, and no others, even if an id is a prefix of another.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawKeys(t, func(p *Pattern, parts []string, k Key) { checkRanges(t, p, parts, k) })
	})
}

func checkRanges(t *rapid.T, p *Pattern, parts []string, k Key) {
	of := rapid.OneOf(rapid.Just(p), rapid.SampledFrom(patterns)).Draw(t, "range of")
	if p.pk.free {
		k.PK = "" // is in no index
	}
	sk2, part := p.SK2(drawParts(t, p.ItemType.SK2)...), rapid.OneOf(rapid.SampledFrom(parts), ids())
	id := rapid.OneOf(rapid.Just(FirstID(k.SK)), part).Draw(t, "id")
	low, high := rapid.OneOf(rapid.Just(""), part), rapid.OneOf(rapid.Just(""), rapid.Map(part, func(s string) string {
		return s[:min(1, len(s))]
	}), part)
	for _, c := range []struct {
		all         Range
		key, prefix string
	}{
		{of.All(), k.SK, of.Prefix()}, {of.All(id), k.SK, of.Prefix() + id + "#"},
		{of.Partitions(), k.PK, of.pk.fixed}, {of.History(), sk2, of.sk2.fixed},
	} {
		rest, within := strings.CutPrefix(c.key, c.prefix)
		is := func(what string, r Range, want bool) {
			if want = want && within; r.Contains(c.key) != want || want && r.Empty() {
				t.Fatalf("%s of %s, %q: contains %q: %v", what, of.What, r, c.key, !want)
			}
		}
		low, high := rapid.OneOf(low, rapid.Just(rest)).Draw(t, "low"), rapid.OneOf(high, rapid.Just(rest)).Draw(t, "high")
		after, before := low == "" || rest > low, high == "" || rest < high
		is("all", c.all, true)
		is("after", c.all.After(low), after)
		is("after and before", c.all.After(low).Before(high), after && before)
		is("since and before", c.all.Since(low).Before(high), rest >= low && before)
		is("after and through", c.all.After(low).Through(high), after &&
			(before || rest == high || strings.HasPrefix(rest, high+"#")))
		is("after and beginning", c.all.After(low).Beginning(high), after && strings.HasPrefix(rest, high))
	}
	// A key without an id is skipped. It has no next id, so a reader would find it again without end.
	if skip := of.NextAfter(id); skip.Contains(of.Prefix()+id+"#k") || skip.Contains(of.Prefix()) ||
		skip.Contains(k.SK) != (of.Is(k.SK) && FirstID(k.SK) > id) {
		t.Fatalf("%s after %q, %q: contains %s: %v", of.What, id, skip, k.SK, skip.Contains(k.SK))
	}
	onPage := slices.Contains([]*Pattern{Account.Pattern, Current.Pattern, Summary.Pattern, Balance.Pattern}, p)
	if _, ok := Account.Owner(k); ok && PageRange().Contains(k.SK) != onPage {
		t.Fatalf("an account's page contains %s: %v", k.SK, !onPage)
	}
	if _, ok := Transaction.Owner(k); ok && !LifecycleRange().Contains(k.SK) {
		t.Fatalf("a transaction's lifecycle lacks %s", k.SK)
	}
}
