package events_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/ksuid"
	"pgregory.net/rapid"

	"ledger.example/events"
)

const (
	leastKSUID    = "000000000000000000000000000"
	greatestKSUID = "aWgEPTl1tmebfsQzFP4bxwgy80V"
)

// genAnyKSUID draws 20 bytes, also such as nobody here mints, and their KSUID.
func genAnyKSUID() *rapid.Generator[ksuid.KSUID] {
	return rapid.Custom(func(t *rapid.T) (id ksuid.KSUID) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(t, "bytes"))
		return id
	})
}

func TestKSUIDOrderIsByteOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genAnyKSUID().Draw(t, "a"), genAnyKSUID().Draw(t, "b")
		k, err := events.ParseKSUID(a.String())
		if err != nil || string(k) != a.String() {
			t.Fatalf("ParseKSUID(%s) = %s, %v", a, k, err)
		}
		if bytes.Compare(a[:], b[:]) != strings.Compare(a.String(), b.String()) {
			t.Fatalf("%s and %s are ordered otherwise than their bytes", a, b)
		}
	})
}

// FuzzParseKSUID: accepted is exactly what the KSUID library decodes and encodes back to the same text.
func FuzzParseKSUID(f *testing.F) {
	for _, s := range []string{
		"", leastKSUID, greatestKSUID,
		"aWgEPTl1tmebfsQzFP4bxwgy80W", "zzzzzzzzzzzzzzzzzzzzzzzzzzz", "b00000000000000000000000000", // above the greatest
		leastKSUID[1:], leastKSUID + "0", // 26 and 28 characters
		"00000000000000000000000000-", "0000000000000_0000000000000", "00000000000000000000000000\x00", "000000000000000000000000{00", // not the alphabet
		"0000000000000000000000000é", "3MPlq7CblaK144v8BdRNuauB4LH",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := events.ParseKSUID(s)
		id, libraryErr := ksuid.Parse(s)
		wanted := libraryErr == nil && id.String() == s
		if wanted != (err == nil) || err == nil && string(k) != s || err != nil && (k != "" || err != events.ErrKSUID) {
			t.Fatalf("ParseKSUID(%q) = %q, %v; the library: %v, %v", s, k, err, id, libraryErr)
		}
		if at := events.KSUID(s).Time(); at.IsZero() == wanted {
			t.Fatalf("KSUID(%q).Time() = %v", s, at)
		}
	})
}

func TestKSUIDTime(t *testing.T) {
	tail := strings.Repeat("\xff", 13)
	for _, test := range []struct {
		bytes string
		want  time.Time
	}{
		{strings.Repeat("\x00", 20), epoch},
		{"\x00\x00\x00\x01\x00\x00\x01" + tail, epoch.Add(time.Second + time.Microsecond)},
		{"\x00\x00\x00\x00\x0f\x42\x3f" + tail, epoch.Add(999_999 * time.Microsecond)},
		{"\x00\x00\x00\x00\x0f\x42\x40" + tail, epoch.Add(999_999 * time.Microsecond)}, // 1,000,000: minted by others
		{"\x00\x00\x00\x00\xff\xff\xff" + tail, epoch.Add(999_999 * time.Microsecond)},
		{strings.Repeat("\xff", 20), last},
	} {
		id, err := ksuid.FromBytes([]byte(test.bytes))
		if err != nil {
			t.Fatal(err)
		}
		if got := events.KSUID(id.String()).Time(); !got.Equal(test.want) || got.Location() != time.UTC {
			t.Errorf("%x: %v, want %v", test.bytes, got, test.want)
		}
	}
	if at := events.KSUID("").Time(); !at.IsZero() {
		t.Errorf("the empty KSUID is of %v", at)
	}
}

// TestFirstKSUID: k >= FirstKSUID(t) exactly if k.Time() >= t cut to microseconds, for every KSUID and time.
func TestFirstKSUID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := genAnyKSUID().Draw(t, "k")
		k := events.KSUID(id.String())
		at := rapid.OneOf(
			rapid.Map(rapid.Int64Range(-3000, 3000), func(ns int64) time.Time { return k.Time().Add(time.Duration(ns)) }),
			rapid.Map(rapid.Int64Range(0, span), after),
		).Draw(t, "t").In(time.FixedZone("elsewhere", 3600))
		if k == greatestKSUID || at.After(last) {
			return // see TestFirstKSUIDOutsideTheRange
		}
		first := events.FirstKSUID(at)
		if (k >= first) != !k.Time().Before(at.Truncate(time.Microsecond)) {
			t.Fatalf("k %s of %v, first %s of %v", k, k.Time(), first, at)
		}
		if !at.Before(epoch) && !first.Time().Equal(at.Truncate(time.Microsecond)) {
			t.Fatalf("the first of %v is of %v", at, first.Time())
		}
	})
}

func TestFirstKSUIDOutsideTheRange(t *testing.T) {
	for _, test := range []struct {
		at   time.Time
		want events.KSUID
	}{
		{epoch, leastKSUID},
		{epoch.Add(-1), leastKSUID},
		{time.Time{}, leastKSUID},
		{time.Unix(-1<<62, 0), leastKSUID},
		{last.Add(time.Microsecond), greatestKSUID},
		{time.Unix(1<<62, 0), greatestKSUID},
	} {
		if got := events.FirstKSUID(test.at); got != test.want {
			t.Errorf("FirstKSUID(%v) = %s, want %s", test.at, got, test.want)
		}
	}
	if k := events.FirstKSUID(last); k >= greatestKSUID || !k.Time().Equal(last) {
		t.Errorf("the first of the last instant is %s of %v", k, k.Time())
	}
}

func BenchmarkParseKSUID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.ParseKSUID("3MPlq7CblaK144v8BdRNuauB4LH"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKSUIDTime(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = events.KSUID("3MPlq7CblaK144v8BdRNuauB4LH").Time()
	}
}
