package events_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/ksuid"
	"pgregory.net/rapid"

	"ledger.example/events"
)

var (
	epoch = time.Date(2014, 5, 13, 16, 53, 20, 0, time.UTC)               // the first instant of KSUIDs
	last  = epoch.Add((1<<32-1)*time.Second + 999_999*time.Microsecond)   // the last
	year  = int64(365 * 24 * time.Hour / time.Microsecond)                // in microseconds
	span  = int64((1<<32-1)*1_000_000 + 999_999)                          // from epoch to last, in microseconds
	after = func(micros int64) time.Time { return epoch.Add(us(micros)) } // an instant after epoch
)

func us(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }

// filled is a source of randomness that always gives the same byte. 0xff uses up the tails of an instant at once.
func filled(with byte) func([]byte) error {
	return func(b []byte) error {
		for i := range b {
			b[i] = with
		}
		return nil
	}
}

// For every clock, KSUIDs increase and have the returned instant. It is the clock's instant, unless a KSUID of a later
// one was minted before.
func TestMintUnderAJumpingClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := after(rapid.Int64Range(0, span).Draw(t, "start"))
		random := rapid.SampledFrom([]func([]byte) error{nil, filled(0), filled(0xff)}).Draw(t, "random")
		minter := events.NewMinter(func() time.Time { return now }, random)
		var newest events.KSUID
		var newestAt time.Time
		jump := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-5, 5), rapid.Int64Range(-year, year))
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			now = now.Add(us(jump.Draw(t, "jump"))).Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "ns")))
			n := rapid.IntRange(0, 48).Draw(t, "n")
			ids, at, err := minter.Mint(n)
			if now.Before(epoch) || now.After(last.Add(999)) {
				if err != events.ErrTime || ids != nil {
					t.Fatalf("clock at %v: %v, %v", now, ids, err)
				}
				continue
			}
			if err == events.ErrTime && random != nil && (newestAt.Equal(last) || !now.Before(last)) {
				continue // the tails of the last instant of all are used up
			}
			if err != nil || len(ids) != n {
				t.Fatalf("Mint(%d): %d of them, %v", n, len(ids), err)
			}
			want := now.Truncate(time.Microsecond)
			if want.Before(newestAt) {
				want = newestAt
			}
			if !at.Equal(want) && !(n > 0 && at.Equal(want.Add(time.Microsecond)) && random != nil) || at.Location() != time.UTC {
				t.Fatalf("clock at %v, newest of %v: minted for %v", now, newestAt, at)
			}
			for _, id := range ids {
				if id <= newest {
					t.Fatalf("%s follows %s", id, newest)
				}
				if _, err := events.ParseKSUID(string(id)); err != nil || !id.Time().Equal(at) {
					t.Fatalf("%s is of %v, not %v: %v", id, id.Time(), at, err)
				}
				newest, newestAt = id, at
			}
		}
	})
}

// A KSUID is greater than every one that was returned before its own call began.
func TestMintConcurrently(t *testing.T) {
	stopped := time.Date(2026, 11, 21, 9, 6, 39, 0, time.UTC)
	for name, clock := range map[string]func() time.Time{"running": time.Now, "stopped": func() time.Time { return stopped }} {
		t.Run(name, func(t *testing.T) {
			minter := events.NewMinter(clock, nil)
			var mu sync.Mutex
			var all []events.KSUID
			var newest events.KSUID
			var minters sync.WaitGroup
			for g := range 8 {
				minters.Go(func() {
					for i := range 200 {
						mu.Lock()
						before := newest
						mu.Unlock()
						ids, _, err := minter.Mint(1 + (g+i)%5)
						if err != nil || !slices.IsSorted(ids) || ids[0] <= before {
							t.Errorf("%v, %v after %s", ids, err, before)
							return
						}
						mu.Lock()
						newest = max(newest, ids[len(ids)-1])
						all = append(all, ids...)
						mu.Unlock()
					}
				})
			}
			minters.Wait()
			slices.Sort(all)
			if unique := len(slices.Compact(slices.Clone(all))); unique != len(all) {
				t.Errorf("%d of %d are repeated", len(all)-unique, len(all))
			}
		})
	}
}

// An error of the random source is returned, and does not change the minter.
func TestMintAfterAFailure(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 6, 39, 0, time.UTC)
	failure := errors.New("no randomness")
	var fault error
	minter := events.NewMinter(func() time.Time { return now }, func([]byte) error { return fault })
	fault = failure
	now = now.Add(time.Hour)
	if ids, at, err := minter.Mint(1); err != failure || ids != nil || !at.IsZero() {
		t.Errorf("%v, %v, %v", ids, at, err)
	}
	fault = nil
	now = now.Add(-time.Hour)
	if _, at, err := minter.Mint(1); err != nil || !at.Equal(now) {
		t.Errorf("after a failure an hour ahead: %v, %v", at, err)
	}
}

// TestMintLayout: seconds since the epoch, microseconds, then the tail, of which every byte is random. The first of an
// instant is a step above the random tail, the next a step above it.
func TestMintLayout(t *testing.T) {
	now := epoch.Add(0x01020304*time.Second + 0x0a0b0c*time.Microsecond)
	ids, _, err := events.NewMinter(func() time.Time { return now }, func(b []byte) error {
		copy(b, "\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d"+"\x00\x00\x00\x00"+"\xff\xff\xff\xff")
		return nil
	}).Mint(2)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"010203040a0b0c1112131415161718191a1b1c1e",
		"010203040a0b0c11121314151617181a1a1b1c1e",
	} {
		if id, err := ksuid.Parse(string(ids[i])); err != nil || fmt.Sprintf("%x", id.Bytes()) != want {
			t.Errorf("%d: %x, %v; want %s", i, id.Bytes(), err, want)
		}
	}
}

func BenchmarkMint(b *testing.B) {
	for _, n := range []int{1, 2, 48} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			minter := events.NewMinter(nil, nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := minter.Mint(n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

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

// ParseKSUID accepts exactly the texts that the KSUID library decodes and encodes back to the same text.
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

// TestFirstKSUID: k >= FirstKSUID(t) exactly if k.Time() >= t cut to microseconds, for every KSUID and time; and
// k <= LastKSUIDBefore(t) exactly if not.
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
		if last := events.LastKSUIDBefore(at); k != leastKSUID && (k <= last) != (k < first) {
			t.Fatalf("k %s, the last before %v is %s, and the first %s", k, at, last, first)
		}
		if !at.Before(epoch) && !first.Time().Equal(at.Truncate(time.Microsecond)) {
			t.Fatalf("the first of %v is of %v", at, first.Time())
		}
	})
}

func TestFirstKSUIDOutsideTheRange(t *testing.T) {
	if got := events.Epoch(); !got.Equal(epoch) {
		t.Errorf("the epoch is %v", got)
	}
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
		if got := events.LastKSUIDBefore(test.at); got != leastKSUID && (test.want == leastKSUID || got >= test.want) {
			t.Errorf("LastKSUIDBefore(%v) = %s", test.at, got)
		}
		if got := events.FirstKSUID(test.at); got != test.want {
			t.Errorf("FirstKSUID(%v) = %s, want %s", test.at, got, test.want)
		}
	}
	if k := events.FirstKSUID(last); k >= greatestKSUID || !k.Time().Equal(last) {
		t.Errorf("the first of the last instant is %s of %v", k, k.Time())
	}
}

// G11: the end of a hold is minted after its placing, even by a process whose clock is behind, and for all random
// tails.
func TestMintAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.SampledFrom([]func([]byte) error{nil, filled(0), filled(0xff)})
		at := after(rapid.Int64Range(year, span-year).Draw(t, "other's clock"))
		off := us(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-9e6, 9e6)).Draw(t, "off"))
		other := events.NewMinter(func() time.Time { return at }, random.Draw(t, "other's random"))
		own := events.NewMinter(func() time.Time { return at.Add(off) }, random.Draw(t, "random"))
		placed, _, err := other.Mint(rapid.IntRange(1, 48).Draw(t, "n"))
		if err != nil {
			t.Fatal(err)
		}
		last := placed[len(placed)-1]
		ended, instant, err := own.MintAfter(last, 2)
		if err != nil {
			t.Fatal(err)
		}
		latest := at
		if off > 0 {
			latest = at.Add(off)
		}
		if ended[0] <= last || ended[1] <= ended[0] || instant.Sub(latest) > time.Microsecond || instant.Before(at) {
			t.Fatalf("after %s at %v: %v at %v", last, at, ended, instant)
		}
		if again, _, err := own.Mint(1); err != nil || again[0] <= ended[1] {
			t.Fatalf("then %v, %v", again, err)
		}
	})
}

// KSUIDs for a past instant increase in the order in which they are minted, also by other processes, and follow those
// that were minted at that instant. They have no effect on those of Mint.
func TestMintAt(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 6, 39, 123456789, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.SampledFrom([]func([]byte) error{nil, filled(0), filled(0xff)}).Draw(t, "random")
		minter := events.NewMinter(func() time.Time { return now }, random)
		before, _, err := minter.Mint(2)
		if err != nil {
			t.Fatal(err)
		}
		at := after(rapid.Int64Range(-5, span+5).Draw(t, "at")).Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "ns")))
		n := rapid.IntRange(0, events.PostingsMax).Draw(t, "n")
		var seen events.KSUID
		if ids, _, err := events.NewMinter(func() time.Time { return at }, random).Mint(n); err == nil && n > 0 {
			seen = ids[n-1]
		}
		for call := range 3 {
			by := minter
			if call == 2 { // another process
				by = events.NewMinter(func() time.Time { return now.Add(2 * time.Microsecond) }, random)
			}
			ids, err := by.MintAt(at, n)
			if at.Before(epoch) || at.After(last.Add(999)) {
				if err != events.ErrTime || ids != nil {
					t.Fatalf("at %v: %v, %v", at, ids, err)
				}
				continue
			}
			if err != nil || len(ids) != n {
				t.Fatalf("MintAt(%v, %d): %v, %v", at, n, ids, err)
			}
			for i, id := range ids {
				if !id.Time().Equal(at.Truncate(time.Microsecond)) || i > 0 && id <= ids[i-1] {
					t.Fatalf("MintAt(%v): %v", at, ids)
				}
			}
			if n > 0 {
				if ids[0] <= seen {
					t.Fatalf("call %d: %s after %s", call, ids[0], seen)
				}
				seen = ids[n-1]
			}
		}
		next, instant, err := minter.Mint(1)
		if err != nil || next[0] <= before[1] || instant.Sub(now) > time.Microsecond {
			t.Fatalf("%v follows %v at %v: %v", next, before, instant, err)
		}
	})
	failing := events.NewMinter(nil, func([]byte) error { return errors.ErrUnsupported })
	if ids, err := failing.MintAt(now, 2); ids != nil || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without randomness: %v, %v", ids, err)
	}
}
