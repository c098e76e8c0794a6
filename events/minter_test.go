package events_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/ksuid"
	"pgregory.net/rapid"

	"ledger.example/events"
)

// filled is a source of randomness that always gives the same byte. 0xff uses up the tails of an instant at once.
func filled(with byte) func([]byte) error {
	return func(b []byte) error {
		for i := range b {
			b[i] = with
		}
		return nil
	}
}

// TestMintUnderAJumpingClock: whatever the clock does, KSUIDs increase, are of the instant returned, and that instant is
// the clock's unless one as late was minted before.
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

// TestMintConcurrently: a KSUID is greater than every one whose minting ended before its own began.
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

func TestMintRefusesTimes(t *testing.T) {
	for _, test := range []struct {
		now time.Time
		err error
	}{
		{epoch, nil},
		{epoch.Add(-1), events.ErrTime},
		{time.Time{}, events.ErrTime},
		{time.Unix(-1<<62, 0), events.ErrTime},
		{last.Add(999), nil},
		{last.Add(1000), events.ErrTime},
		{time.Unix(1<<62, 0), events.ErrTime},
	} {
		ids, at, err := events.NewMinter(func() time.Time { return test.now }, nil).Mint(2)
		if err != test.err || err != nil && (ids != nil || !at.IsZero()) || err == nil && !ids[1].Time().Equal(test.now.Truncate(time.Microsecond)) {
			t.Errorf("clock at %v: %v, %v, %v; want %v", test.now, ids, at, err, test.err)
		}
	}
}

// TestMintMovesOn: when the tails of an instant don't suffice, all of the call move to the next, and never past the end.
func TestMintMovesOn(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 6, 39, 123456000, time.UTC)
	minter := events.NewMinter(func() time.Time { return now }, filled(0xff))
	ids, at, err := minter.Mint(48)
	if err != nil || !at.Equal(now.Add(time.Microsecond)) || !ids[0].Time().Equal(at) || !ids[47].Time().Equal(at) || !slices.IsSorted(ids) {
		t.Errorf("%v, %v, %v", ids, at, err)
	}
	now = last
	if ids, _, err := minter.Mint(1); err != events.ErrTime {
		t.Errorf("past the end: %v, %v", ids, err)
	}
}

// TestMintAfterAFailure: a failing source of randomness is reported, and nothing counts as minted.
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

// TestMintSteps: within one instant the next KSUID cannot be guessed from the one before.
func TestMintSteps(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 6, 39, 0, time.UTC)
	steps := map[string]bool{}
	for range 20 {
		ids, _, err := events.NewMinter(func() time.Time { return now }, func(b []byte) error {
			if err := filled(0)(b[:13]); err != nil { // the tail; the rest are steps
				return err
			}
			_, err := rand.Read(b[13:])
			return err
		}).Mint(2)
		if err != nil {
			t.Fatal(err)
		}
		steps[fmt.Sprint(ids)] = true
	}
	if len(steps) < 20 {
		t.Errorf("%d of 20 runs differ", len(steps))
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

func BenchmarkMintParallel(b *testing.B) {
	minter := events.NewMinter(nil, nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := minter.Mint(2); err != nil {
				b.Error(err)
			}
		}
	})
}
