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

// A KSUID is greater than every one that was returned before its own call began, also while the clock stands still.
func TestMintConcurrently(t *testing.T) {
	minter := events.NewMinter(func() time.Time { return epoch }, nil)
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
	full := ksuid.KSUID([]byte("\x01\x02\x03\x04\x0a\x0b\x0c\x11\x12\x13\x14\x15\xff\xff\xff\xff\xff\xff\xff\xff"))
	after := events.KSUID(full.String())
	ids, _, err = events.NewMinter(func() time.Time { return now }, nil).MintAfter(after, 1)
	if err != nil || ids[0] <= after {
		t.Errorf("%v, %v after %s", ids, err, after) // the step is carried into the upper half
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
		seams := []string{"", "", "\x00\x00\x00", "\x00\x00\x01", "\x0f\x42\x3f", "\x0f\x42\x40"}
		copy(id[4:], rapid.SampledFrom(seams).Draw(t, "microseconds"))
		return id
	})
}

// KSUIDs are in the order of their bytes, and have the time in them. Others may have minted microseconds above 999,999.
func TestKSUIDsAreTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genAnyKSUID().Draw(t, "a"), genAnyKSUID().Draw(t, "b")
		k, err := events.ParseKSUID(a.String())
		if err != nil || string(k) != a.String() {
			t.Fatalf("ParseKSUID(%s) = %s, %v", a, k, err)
		}
		if bytes.Compare(a[:], b[:]) != strings.Compare(a.String(), b.String()) {
			t.Fatalf("%s and %s are ordered otherwise than their bytes", a, b)
		}
		micros := int64(a[4])<<16 | int64(a[5])<<8 | int64(a[6])
		want := epoch.Add(time.Duration(a.Timestamp())*time.Second + us(min(micros, 999_999)))
		if got := k.Time(); !got.Equal(want) || got.Location() != time.UTC {
			t.Fatalf("%s is of %v, want %v", k, got, want)
		}
	})
}

// ParseKSUID accepts exactly the texts that the KSUID library decodes and encodes back to the same text.
func FuzzParseKSUID(f *testing.F) {
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

// TestFirstKSUID: k >= FirstKSUID(t) exactly if k.Time() >= t cut to microseconds, for every KSUID and time; and
// k <= LastKSUIDBefore(t) exactly if not. The least KSUID and the greatest stand for all that is beyond them.
func TestFirstKSUID(t *testing.T) {
	if first := events.FirstKSUID(last); first >= greatestKSUID || events.Epoch() != epoch {
		t.Errorf("the first of the last instant is %s; the epoch is %v", first, events.Epoch())
	}
	rapid.Check(t, func(t *rapid.T) {
		k := events.KSUID(genAnyKSUID().Draw(t, "k").String())
		at := rapid.OneOf(
			rapid.Map(rapid.Int64Range(-3000, 3000), func(ns int64) time.Time { return k.Time().Add(time.Duration(ns)) }),
			rapid.Map(rapid.Int64Range(0, span), after),
			rapid.SampledFrom([]time.Time{
				epoch, epoch.Add(-1), {}, time.Unix(-1<<62, 0), last.Add(time.Microsecond), time.Unix(1<<62, 0),
			}),
		).Draw(t, "t").In(time.FixedZone("elsewhere", 3600))
		first, before := events.FirstKSUID(at), events.LastKSUIDBefore(at)
		if isAfter := !k.Time().Before(at.Truncate(time.Microsecond)); k != greatestKSUID && (k >= first) != isAfter ||
			k != leastKSUID && (k <= before) == (k >= first) {
			t.Fatalf("k %s of %v, first %s of %v, the last before it %s", k, k.Time(), first, at, before)
		}
		switch inRange := !at.Before(epoch) && at.Before(last.Add(time.Microsecond)); {
		case inRange && !first.Time().Equal(at.Truncate(time.Microsecond)),
			!inRange && first != map[bool]events.KSUID{true: leastKSUID, false: greatestKSUID}[at.Before(epoch)]:
			t.Fatalf("the first of %v is %s of %v", at, first, first.Time())
		}
	})
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
			follow := events.KSUID("")
			if call == 2 && n > 0 && rapid.Bool().Draw(t, "follow") { // its clock is behind
				by, follow = events.NewMinter(func() time.Time { return now.Add(-time.Second) }, random), seen
			}
			ids, err := by.MintAt(at, n, follow)
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
	if ids, err := failing.MintAt(now, 2, ""); ids != nil || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without randomness: %v, %v", ids, err)
	}
}
