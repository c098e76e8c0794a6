package projections_test

import (
	"fmt"
	"log/slog"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/projections"
)

// All pages of an account's balances together are all balances, whatever each costs, is projected of it and fits on a
// page. Each page of strong balances has one at least. Pages of the past may be empty, but not for ever.
func TestPagesTogetherAreAllBalances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, p := t.Context(), newPast(t)
		p.projector.Tune(projections.Tuning{Stretch: 50, Segments: 3, Unsealed: 3})
		p.Page = rapid.SampledFrom([]int{0, 1, 7}).Draw(t, "store's page")
		counts := rapid.SliceOfN(rapid.SampledFrom([]int{1, 1, 1, 2, 30, 60, 130}), 1, 12).Draw(t, "postings")
		until := rapid.SampledFrom([]int{1, 40, 1000}).Draw(t, "as of")
		present, past := make(map[string]int64), make(map[string]int64)
		for n, count := range counts {
			k := events.Pair{Account: "jane", Asset: fmt.Sprintf("x%02d", n)}
			first := rapid.SampledFrom([]int{1, 35}).Draw(t, "first")
			var ids []events.KSUID
			for i := range count {
				if err := p.Post(ctx, k, posting(first+i, 1)); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, ksuid(first+i))
			}
			if rapid.Bool().Draw(t, "projected") {
				if err := p.projector.Refold(ctx, k, ids); err != nil {
					t.Fatal(err)
				}
			}
			present[k.Asset] = int64(count)
			if before := int64(min(count, until-first+1)); before > 0 {
				past[k.Asset] = before
			}
		}
		halves := rapid.SampledFrom([]int{0, 1, 4, 10, 40, 320}).Draw(t, "budget")
		limit := rapid.IntRange(1, 15).Draw(t, "limit")
		walk := func(
			what string, wanted map[string]int64, read func(projections.Slice) (got []string, counts []int64, next string),
		) {
			found := make(map[string]int64)
			last, pages := "", 0
			for s := (projections.Slice{Limit: limit}); pages == 0 || s.After != ""; pages++ {
				s.Budget = projections.BudgetOf(halves)
				assets, counts, next := read(s)
				for i, asset := range assets {
					if asset <= last {
						t.Fatalf("%s: %s after %s", what, asset, last)
					}
					last, found[asset] = asset, counts[i]
				}
				if len(assets) == 0 && what == "strong" || next != "" && next <= s.After {
					t.Fatalf("%s: after %q a page of %d balances, then %q", what, s.After, len(assets), next)
				}
				s.After = next
			}
			if !maps.Equal(found, wanted) {
				t.Fatalf("%s: %v on %d pages, want %v", what, found, pages, wanted)
			}
		}
		reader := projections.NewReader(p.Table, slog.New(slog.DiscardHandler))
		walk("strong", present, func(s projections.Slice) (assets []string, counts []int64, next string) {
			page, err := reader.Balances(ctx, "jane", nil, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range page.Items {
				assets, counts = append(assets, b.Asset), append(counts, b.Head.Count)
			}
			return assets, counts, page.Next
		})
		walk("past, strong", past, func(s projections.Slice) (assets []string, counts []int64, next string) {
			page, err := p.past.Balances(ctx, "jane", at(until), true, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range page.Items {
				assets, counts = append(assets, b.Asset), append(counts, b.Count)
			}
			return assets, counts, page.Next
		})
	})
}
