package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/big"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
)

// kinds has a zero value of every event.
var kinds = []events.Event{
	events.AssetRegistered{}, events.AccountOpened{}, events.TransactionPosted{},
	events.PostingRecorded{}, events.MemberGranted{}, events.MemberRevoked{},
}

// TestKindsIsComplete reads the source: every type that has an EventName is in kinds, under its own name.
func TestKindsIsComplete(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "EventName" && f.Recv != nil {
				declared[f.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
	listed := map[string]bool{}
	for _, kind := range kinds {
		name, _ := kind.EventName()
		listed[name] = true
	}
	if !maps.Equal(declared, listed) {
		t.Errorf("types with an EventName: %v; listed: %v", slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(listed)))
	}
}

func genID() *rapid.Generator[string] {
	return rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}`)
}

func genText(least, most int) *rapid.Generator[string] {
	return rapid.StringN(least, most, -1)
}

// genWhole draws whole numbers of at most the given digits, of every length, often at the seams of the representation.
func genWhole(digits int) *rapid.Generator[*big.Int] {
	bound := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	seams := []*big.Int{new(big.Int), new(big.Int).Lsh(big.NewInt(1), 63), new(big.Int).Lsh(big.NewInt(1), 64)}
	for n := big.NewInt(1); n.Cmp(bound) <= 0; n = new(big.Int).Mul(n, big.NewInt(10)) {
		seams = append(seams, n)
	}
	return rapid.Custom(func(t *rapid.T) *big.Int {
		n := new(big.Int)
		if rapid.Bool().Draw(t, "at a seam") {
			n.Add(rapid.SampledFrom(seams).Draw(t, "seam"), big.NewInt(rapid.Int64Range(-2, 2).Draw(t, "off")))
		} else {
			n.SetString(rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits"), 10)
		}
		n.Rem(n, bound)
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		return n
	})
}

func genAmount(digits int) *rapid.Generator[events.Amount] {
	return rapid.Map(genWhole(digits), amountOf)
}

// amountOf converts n, which must be in range.
func amountOf(n *big.Int) events.Amount {
	a, err := events.ParseAmount(n.String(), events.FoldedDigits)
	if err != nil {
		panic(err)
	}
	return a
}

var (
	epoch = time.Date(2014, 5, 13, 16, 53, 20, 0, time.UTC)               // the first instant of KSUIDs
	last  = epoch.Add((1<<32-1)*time.Second + 999_999*time.Microsecond)   // the last
	year  = int64(365 * 24 * time.Hour / time.Microsecond)                // in microseconds
	span  = int64((1<<32-1)*1_000_000 + 999_999)                          // from epoch to last, in microseconds
	after = func(micros int64) time.Time { return epoch.Add(us(micros)) } // an instant after epoch
)

func us(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }

// genTime draws whole microseconds of years that facts are written in.
func genTime() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(0, 100*year), after)
}

// genKSUIDs draws n increasing KSUIDs of one instant.
func genKSUIDs(n int) *rapid.Generator[[]events.KSUID] {
	return rapid.Custom(func(t *rapid.T) []events.KSUID {
		at := genTime().Draw(t, "at")
		ids, _, err := events.NewMinter(func() time.Time { return at }, nil).Mint(n)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	})
}

func genKind() *rapid.Generator[events.Kind] {
	return rapid.SampledFrom([]events.Kind{events.KindTransaction, events.KindTransfer, events.KindTrade})
}

func genLeg(id events.KSUID) *rapid.Generator[events.Leg] {
	return rapid.Custom(func(t *rapid.T) events.Leg {
		return events.Leg{
			ID:       id,
			Account:  genID().Draw(t, "account"),
			Asset:    genID().Draw(t, "asset"),
			Quantity: genAmount(events.PostedDigits).Draw(t, "quantity"),
			Cost:     genAmount(events.PostedDigits).Draw(t, "cost"),
		}
	})
}

func genAssetRegistered() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		return events.AssetRegistered{
			ID:          genID().Draw(t, "id"),
			Name:        genText(1, events.NameChars).Draw(t, "name"),
			Description: genText(0, events.DescriptionChars).Draw(t, "description"),
			Scale:       rapid.IntRange(0, events.ScaleMax).Draw(t, "scale"),
			Currency:    rapid.OneOf(genID(), rapid.Just("")).Draw(t, "currency"),
			Actor:       genText(1, 100).Draw(t, "actor"),
			At:          genTime().Draw(t, "at"),
		}
	})
}

func genAccountOpened() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		e := events.AccountOpened{
			ID:      genID().Draw(t, "id"),
			Name:    genText(0, events.NameChars).Draw(t, "name"),
			Profile: rapid.SampledFrom([]string{"{}", `{"a":[1,{"b":null}],"<":"é"}`, `{"addresses":[{"city":"Springfield"}]}`}).Draw(t, "profile"),
			Actor:   genText(1, 100).Draw(t, "actor"),
			At:      genTime().Draw(t, "at"),
		}
		switch rapid.IntRange(0, 2).Draw(t, "overdraft") {
		case 1:
			e.Overdraft.Unlimited = true
		case 2:
			limit := rapid.Map(genAmount(events.PostedDigits), events.Amount.Abs)
			e.Overdraft.Limits = rapid.MapOfN(genID(), limit, 1, 5).Draw(t, "limits")
		}
		return e
	})
}

func genTransactionPosted() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		n := rapid.OneOf(rapid.IntRange(events.PostingsMin, 5), rapid.Just(events.PostingsMax)).Draw(t, "legs")
		e := events.TransactionPosted{
			ID:          genID().Draw(t, "id"),
			Kind:        genKind().Draw(t, "kind"),
			Description: genText(0, events.DescriptionChars).Draw(t, "description"),
			Metadata:    rapid.MapOfN(genText(1, events.MetadataKeyChars), genText(0, 20), 0, 5).Draw(t, "metadata"),
			Fingerprint: rapid.StringMatching(`[1-9][0-9]?:[0-9a-f]{64}`).Draw(t, "fingerprint"),
			Actor:       genText(1, 100).Draw(t, "actor"),
		}
		for _, id := range genKSUIDs(n).Draw(t, "ksuids") {
			e.Legs = append(e.Legs, genLeg(id).Draw(t, "leg"))
		}
		return e
	})
}

func genPostingRecorded() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		return events.PostingRecorded{
			Leg:         genLeg(genKSUIDs(1).Draw(t, "ksuid")[0]).Draw(t, "leg"),
			Transaction: genID().Draw(t, "transaction"),
			Kind:        genKind().Draw(t, "kind"),
			Description: genText(0, events.DescriptionChars).Draw(t, "description"),
		}
	})
}

func genMemberGranted() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		return events.MemberGranted{
			Account: genID().Draw(t, "account"),
			User:    genID().Draw(t, "user"),
			Role:    rapid.SampledFrom([]events.Role{events.RoleViewer, events.RoleOperator, events.RoleOwner}).Draw(t, "role"),
			Number:  rapid.Int64Range(1, events.MemberNumberMax).Draw(t, "number"),
			Actor:   genText(1, 100).Draw(t, "actor"),
			At:      genTime().Draw(t, "at"),
		}
	})
}

func genMemberRevoked() *rapid.Generator[events.Event] {
	return rapid.Map(genMemberGranted(), func(e events.Event) events.Event {
		g := e.(events.MemberGranted)
		return events.MemberRevoked{Account: g.Account, User: g.User, Number: g.Number, Actor: g.Actor, At: g.At}
	})
}

// genEvent draws valid events of all kinds.
func genEvent() *rapid.Generator[events.Event] {
	return rapid.OneOf(genAssetRegistered(), genAccountOpened(), genTransactionPosted(),
		genPostingRecorded(), genMemberGranted(), genMemberRevoked())
}
