package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/segmentio/ksuid"
	"pgregory.net/rapid"

	"ledger.example/internal/table/tabletest"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

// The audit decodes KSUIDs as package ksuid does.
func TestInstantOfAgreesWithPackageKSUID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var id ksuid.KSUID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(t, "bytes"))
		micros := int64(id[4])<<16 | int64(id[5])<<8 | int64(id[6])
		want := id.Time().Add(time.Duration(micros) * time.Microsecond)
		got, ok := instantOf(id.String())
		if ok != (micros < 1e6) || !got.Equal(want) {
			t.Fatalf("%s: %v, %v, not %v", id, got, ok, want)
		}
	})
	for _, s := range []string{"", "aWgEPTl1tmebfsQzFP4bxwgy80W", "zzzzzzzzzzzzzzzzzzzzzzzzzzz",
		strings.Repeat("0", 26), strings.Repeat("0", 28), "00000000000000000000000000-"} {
		if _, ok := instantOf(s); ok {
			t.Errorf("%q is accepted as a KSUID", s)
		}
	}
}

func TestOnlyCanonicalFormsAreAccepted(t *testing.T) {
	for s, want := range map[string]bool{
		"0": true, "7": true, "-7": true, strings.Repeat("9", 28): true, "-" + strings.Repeat("9", 28): true,
		"": false, "-": false, "-0": false, "07": false, "+7": false, "7.0": false, "7e3": false, " 7": false,
		strings.Repeat("9", 29): false, "--7": false,
	} {
		if n, ok := wholeNumber(s, postedDigits); ok != want || ok && n.String() != s {
			t.Errorf("number %q: %v", s, ok)
		}
	}
	for s, want := range map[string]bool{
		"a": true, "users:alice:cash": true, "0._:@-": true, strings.Repeat("x", 64): true,
		"": false, "-a": false, "a b": false, "a#b": false, "é": false, strings.Repeat("x", 65): false,
	} {
		if isID(s) != want {
			t.Errorf("id %q", s)
		}
	}
	for s, want := range map[string]bool{
		"2026-11-21T09:06:39.123456Z": true, "2026-11-21T09:06:39.123Z": false,
		"2026-11-21T09:06:39.123456+00:00": false, "2026-02-30T09:06:39.123456Z": false,
		"2026-11-21T9:06:39.123456Z": false, "2026-11-21T09:06:39,123456Z": false,
	} {
		if isInstant(s) != want {
			t.Errorf("time %q", s)
		}
	}
}

// The audit and the rebuild agree on which folds are late and which are wrong: latetest has the cases of both.
func TestJudge(t *testing.T) {
	sum := func(through string, s tabletest.Sums) fold {
		f := noFold()
		f.Through, f.Count = through, s.Count
		f.sums[credits].SetInt64(s.Credits)
		f.sums[debits].SetInt64(s.Debits)
		f.sums[expenditure].SetInt64(s.Expenditure)
		return f
	}
	verdicts := map[state]tabletest.Verdict{right: tabletest.Right, unsettled: tabletest.Late, behind: tabletest.Behind,
		wrong: tabletest.Wrong, beyond: tabletest.Beyond}
	for _, c := range tabletest.Cases() {
		end := "k"
		if c.ElsewhereEnd {
			end = "j"
		}
		if got := verdicts[judge(sum(end, c.Stored), sum("k", c.Found), sum("k", c.Young))]; got != c.Want {
			t.Errorf("%s: %s, not %s", c.Name, got, c.Want)
		}
	}
}

// A number is no text, so it is no id in a list of ids either.
func TestANumberIsNoText(t *testing.T) {
	if got := textOf(&types.AttributeValueMemberN{Value: "2"}); got != "" {
		t.Errorf("the text of a number is %q", got)
	}
	s := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	n := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	item := attributes{
		"PK": s("ACCOUNT#a"), "SK": s("GROUPS#000000000001"), "Type": s("AccountGrouped"), "V": n("1"), "Account": s("a"),
		"Number": n("1"), "Added": s("2"), "Actor": s("x"), "At": s("2026-01-01T00:00:00.000000Z"),
		"Groups": &types.AttributeValueMemberL{Value: []types.AttributeValue{n("2")}},
	}
	item["Checksum"] = s(checksumOf(item))
	if _, found := decode(item); len(found) == 0 {
		t.Error("a number in the list of groups is not found")
	}
}
