package events_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

func TestValidID(t *testing.T) {
	grammar := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$`)
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.SampledFrom([]string{
			"", ".a", "-a", "a b", "a\x00", "a\n", "a#b", "a/b", "a~", "a+b", "aé", "a\u202eb", "\xff", "а" /* Cyrillic */, strings.Repeat("x", 65),
		})
		id := rapid.OneOf(odd, rapid.StringN(0, 70, -1), rapid.StringMatching(`[ -~]{0,70}`), eventstest.ID()).Draw(t, "id")
		if got := events.ValidID(id); got != (grammar.MatchString(id) && !strings.HasSuffix(id, "\n")) {
			t.Fatalf("ValidID(%q) = %t", id, got)
		}
	})
}
