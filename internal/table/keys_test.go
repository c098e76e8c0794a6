package table

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

// ids draws ids of the whole alphabet, and often ones that begin alike: "A", "A:B", "A-".
func ids() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}`),
		rapid.StringMatching(`[A0z][A0z._:@-]{0,3}`),
		rapid.SampledFrom([]string{"A", "A:B", "A-", "A.", "A0", "AA", "Az", "a", "A@", "A_"}),
	)
}

func ksuids() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[0-9A-Za-z]{27}`),
		rapid.StringMatching(`0{25}[09Az][0-9A-Za-z]`), // near each other
		rapid.SampledFrom([]string{"000000000000000000000000000", "aWgEPTl1tmebfsQzFP4bxwgy80V"}),
	)
}

var partNames = regexp.MustCompile(`\{([^}]*)\}`)

// drawParts draws the parts of a key.
func drawParts(t *rapid.T, key string) (parts []string) {
	for _, name := range partNames.FindAllStringSubmatch(key, -1) {
		drawn := ids()
		switch name[1] {
		case "ksuid":
			drawn = ksuids()
		case "number":
			drawn = rapid.Map(rapid.Int64Range(1, 1e12-1), Number)
		case "value...":
			drawn = rapid.OneOf(rapid.SampledFrom([]string{"", "#", "a#LISTED#b"}), rapid.String())
		case "lane":
			drawn = rapid.Map(rapid.IntRange(0, events.LanesMax-1), strconv.Itoa)
		}
		parts = append(parts, drawn.Draw(t, name[1]))
	}
	return parts
}

// drawKeys draws a key of each kind of item.
func drawKeys(t *rapid.T, check func(p *Pattern, parts []string, k Key)) {
	for _, p := range patterns {
		parts := drawParts(t, p.ItemType.PK)
		if !p.rooted {
			parts = append(parts, drawParts(t, p.ItemType.SK)...)
		}
		check(p, parts, p.build(parts...))
	}
}

// A key parses to the parts that it was built from, and as no other kind of item. So no two items have the same key.
func TestKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var other Key
		drawKeys(t, func(p *Pattern, parts []string, k Key) {
			for _, q := range patterns {
				got, ok := q.parse(k)
				if ok != (p == q) || ok && !slices.Equal(got[:len(parts)], parts) || q.Is(k.SK) != (p.Prefix() == q.Prefix()) {
					t.Fatalf("%v of %q parsed as %s: %q, %v; is one: %v", k, parts, q.What, got, ok, q.Is(k.SK))
				}
			}
			account, inAccount := Account.Owner(k)
			if inAccount != strings.HasPrefix(k.PK, "ACCOUNT#") || inAccount && account != parts[0] {
				t.Fatalf("%v is of %q, %v", k, account, inAccount)
			}
			if of := parts[len(parts)-p.sk.parts:]; p.sk.parts > 0 && FirstID(k.SK) != of[0] ||
				p.sk.parts == 2 && LastID(k.SK) != of[1] {
				t.Fatalf("%s has the ids %q and %q", k.SK, FirstID(k.SK), LastID(k.SK))
			}
			// The SK, which nobody can change, distinguishes events from projections.
			if IsEvent(k.SK) != (p.Class == event) {
				t.Fatalf("%s is an event: %v", k.SK, IsEvent(k.SK))
			}
			at := rapid.IntRange(0, len(k.SK)).Draw(t, "at")
			odd := rapid.SampledFrom([]string{"", "#", "##", "#x", "0", "-", "\u0661"}).Draw(t, "odd")
			for _, k := range []Key{{k.PK, other.SK}, {other.PK, k.SK}, {k.PK + odd, k.SK}, {p.pk.fixed, k.SK},
				{k.PK, p.Prefix()}, {k.PK, k.SK[:at] + odd}, {k.PK, k.SK[:at] + odd + k.SK[at:]}} {
				checkParse(t, k)
			}
			other = k
		})
	})
}

// language returns the keys that a pattern describes.
func language(pattern string) *regexp.Regexp {
	of := strings.NewReplacer(`{number}`, `\d{12}`, `{value...}`, `.*`,
		`{lane}`, `(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])`).Replace(pattern)
	return regexp.MustCompile(`(?s)^` + partNames.ReplaceAllString(of, `[^#]+`) + `$`)
}

// checkParse checks that a key that parses is one that the item has.
func checkParse(t interface{ Fatalf(string, ...any) }, k Key) {
	for _, p := range patterns {
		parts, ok := p.parse(k)
		if ok && (!language(p.ItemType.PK).MatchString(k.PK) || !language(p.ItemType.SK).MatchString(k.SK) ||
			p.build(parts[:p.parts]...) != k || p.sk.numbered && parts[p.parts-1] < Number(1)) ||
			!ok && parts != [5]string{} {
			t.Fatalf("%q parsed as %s: %q, %v", k, p.What, parts, ok)
		}
	}
}

// Every key that parses is one that an item has. Parsing never panics.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, pk, sk string) { checkParse(t, Key{pk, sk}) })
}

// Declarations say all that the documents show, and each part has a place in its type's Key and Parse.
func TestDeclarations(t *testing.T) {
	keys := regexp.MustCompile(`^([A-Z_]+(#\{[a-z]+\}){0,2}(#\{[a-z]+\.\.\.\})? )+$`)
	for _, p := range patterns {
		i, names := p.ItemType, map[string]bool{"{shard}": true}
		for _, name := range partNames.FindAllString(i.PK+i.SK, -1) {
			names[name] = true
		}
		if len(names)-1 != p.parts || slices.Contains([]string{i.What, string(i.Class), i.Type, i.PK, i.SK, i.By}, "") ||
			!keys.MatchString(strings.Join(strings.Fields(i.PK+" "+i.SK+" "+i.SK2+" "+i.PK2), " ")+" ") {
			t.Errorf("%+v: %d parts are %v", i, p.parts, names)
		}
	}
}

// Every value of metadata has a key that DynamoDB accepts, and different values have different keys.
func TestMetadataOfAnyLengthIsListed(t *testing.T) {
	known := make(map[string]string)
	for length := range 1100 {
		for _, value := range []string{strings.Repeat("v", length), strings.Repeat("v", length) + "w"} {
			k := ListedMetadata.Key("255", "order", value, "k", "t")
			if before, ok := known[k.PK]; len(k.PK) > IndexKeyBytes || ok && before != value {
				t.Fatalf("%q and %q are listed at %q", before, value, k.PK)
			}
			known[k.PK] = value
			if parts, ok := ListedMetadata.Parse(k); parts[1]+parts[3]+parts[4] != "orderkt" || !ok {
				t.Fatalf("%q is listed by %q, %v", k, parts, ok)
			}
		}
	}
}

// Postings are read and written all the time: their keys cost no more memory than the keys themselves.
func TestPostingKeysAreCheap(t *testing.T) {
	want := [3]string{"a-rather-long-account:0001", "a-rather-long-asset:0001", "2h3vKAaVzJZ8mP0eMqk1kT9xYzA"}
	k, got, ok := Key{}, want, false
	build := testing.AllocsPerRun(100, func() { k = Posting.Key(want[0], want[1], want[2]) })
	parse := testing.AllocsPerRun(100, func() { got[0], got[1], got[2], ok = Posting.Parse(k) })
	if build != 2 || parse != 0 || got != want || !ok {
		t.Errorf("%v allocations build %q, %v parse it as %q, %v", build, k, parse, got, ok)
	}
}
