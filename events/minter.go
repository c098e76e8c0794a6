package events

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/ksuid"
)

// Minter mints KSUIDs in increasing order, even if its clock goes back. It is safe for concurrent use.
type Minter struct {
	now    func() time.Time
	random func([]byte) error

	mu     sync.Mutex
	newest int64  // instant of the newest KSUID, in microseconds since 1970; 0 before the first
	tail   tail   // tail of the newest KSUID
	past   uint64 // of the newest KSUID of MintAt: when it was minted, in microseconds since KSUID's epoch
	buffer []byte // random bytes of one call, kept to avoid allocations
}

// NewMinter returns a minter with a clock and a source of random bytes. The defaults for nil are time.Now and
// crypto/rand. Neither is called concurrently. The source fills the whole slice or fails.
func NewMinter(now func() time.Time, random func([]byte) error) *Minter {
	if now == nil {
		now = time.Now
	}
	if random == nil {
		random = func(b []byte) error { _, err := rand.Read(b); return err }
	}
	return &Minter{now: now, random: random}
}

// Mint returns n increasing KSUIDs of one instant, all greater than any that m minted before, and that instant in UTC
// and whole microseconds. If the clock stands still or goes back, the instant is that of the newest KSUID, or one
// microsecond later in the rare case that its tails are used up. It mints nothing if n is below 1.
// Errors: ErrTime if the clock is outside the range of KSUIDs; those of the source of random bytes. After an error, m
// is unchanged.
func (m *Minter) Mint(n int) ([]KSUID, time.Time, error) { return m.MintAfter("", n) }

// MintAfter is Mint for KSUIDs that are also greater than after, which another process may have minted.
func (m *Minter) MintAfter(after KSUID, n int) ([]KSUID, time.Time, error) {
	m.follow(after)
	var room [PostingsMax]tail
	instant, tails, err := m.advance(max(n, 0), room[:0])
	if err != nil {
		return nil, time.Time{}, err
	}
	return spell(instant, tails), time.UnixMicro(instant).UTC(), nil
}

// MintAt returns n increasing KSUIDs of the instant t, cut to microseconds. It is for postings with an effective date.
// They follow those that Mint minted at that instant, and among each other they are in the order of the calls (as
// exactly as the clocks of several processes agree), so that an import keeps the order of its postings. They follow
// after, too, if that has the same instant, whichever process minted it. They have no effect on those of Mint. Errors:
// those of Mint.
func (m *Minter) MintAt(t time.Time, n int, after KSUID) ([]KSUID, error) {
	if !hasKSUID(t) {
		return nil, ErrTime
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if !hasKSUID(now) {
		return nil, ErrTime
	}
	last, steps, err := m.draw(max(n, 0))
	if err != nil {
		return nil, err
	}
	m.past = max(m.past+1, uint64(now.UnixMicro()-epochSecond*1e6))
	if instant, other, err := parseTail(after); err == nil && instant == t.UnixMicro() && other.hi >= pastBit {
		m.past = max(m.past, (other.hi-pastBit)<<16+other.lo>>48+1)
	}
	last.hi = pastBit | m.past>>16
	last.lo = m.past<<48 | last.lo>>17 // 47 random bits, and room for the steps
	var room [PostingsMax]tail
	tails, _ := last.climb(steps, room[:0])
	return spell(t.UnixMicro(), tails), nil
}

// spell formats the KSUIDs of an instant with these tails.
func spell(instant int64, tails []tail) []KSUID {
	var buffer [PostingsMax * ksuidChars]byte
	text := buffer[:0] // of all KSUIDs: one allocation
	for _, t := range tails {
		text = appendKSUID(text, instant, t)
	}
	all, minted := KSUID(text), make([]KSUID, len(tails))
	for i := range minted {
		minted[i] = all[i*ksuidChars : (i+1)*ksuidChars]
	}
	return minted
}

// follow makes all KSUIDs that m will mint greater than k.
func (m *Minter) follow(k KSUID) {
	instant, last, err := parseTail(k)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	newer := instant == m.newest && (last.hi > m.tail.hi || last.hi == m.tail.hi && last.lo > m.tail.lo)
	if instant > m.newest || newer {
		m.newest, m.tail = instant, last
	}
}

// advance reserves the next n tails of an instant, and appends them to room. It holds the lock. Formatting takes
// longer, and is done without it.
func (m *Minter) advance(n int, room []tail) (instant int64, tails []tail, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if !hasKSUID(now) {
		return 0, nil, ErrTime
	}
	fresh, steps, err := m.draw(n)
	if err != nil {
		return 0, nil, err
	}
	instant, last := now.UnixMicro(), fresh
	if instant <= m.newest {
		instant, last = m.newest, m.tail
	}
	tails, fits := last.climb(steps, room)
	if !fits {
		if instant++; instant/1e6 > lastSecond {
			return 0, nil, ErrTime
		}
		tails, _ = fresh.climb(steps, room)
	}
	if n > 0 {
		m.newest, m.tail = instant, tails[n-1]
	}
	return instant, tails, nil
}

// draw returns a random tail and n random steps, which are valid until the next draw. The caller holds m.mu.
func (m *Minter) draw(n int) (fresh tail, steps []byte, err error) {
	size := tailBytes + n*stepBytes
	m.buffer = slices.Grow(m.buffer[:0], size)[:size]
	if err := m.random(m.buffer); err != nil {
		return tail{}, nil, err
	}
	return newTail(m.buffer), m.buffer[tailBytes:], nil
}

// tail is the random end of a KSUID, a number of 104 bits.
type tail struct {
	hi uint64 // the upper 40 bits
	lo uint64
}

const (
	tailBytes = 13
	stepBytes = 4 // a KSUID follows the one before it of the same instant by 1 to 2^32
)

// pastBit is set in the upper bits of a tail of MintAt.
const pastBit = 1 << 39

// parseTail returns the instant of a KSUID, in microseconds since 1970, and its tail.
func parseTail(k KSUID) (instant int64, _ tail, _ error) {
	id, err := ksuid.Parse(string(k))
	if err != nil {
		return 0, tail{}, err
	}
	last := tail{hi: binary.BigEndian.Uint64(id[4:]) & (1<<40 - 1), lo: binary.BigEndian.Uint64(id[12:])}
	return k.Time().UnixMicro(), last, nil
}

// newTail reads the first tailBytes of random. It leaves out the first bit: the upper half is for MintAt, and for the
// steps.
func newTail(random []byte) tail {
	hi := uint64(random[0]&0x7f)<<32 | uint64(binary.BigEndian.Uint32(random[1:]))
	return tail{hi: hi, lo: binary.BigEndian.Uint64(random[5:])}
}

// climb appends the tails that follow t by the steps, and reports whether 104 bits hold them.
func (t tail) climb(steps []byte, room []tail) (all []tail, fits bool) {
	for ; len(steps) > 0; steps = steps[stepBytes:] {
		lo, carry := bits.Add64(t.lo, uint64(binary.BigEndian.Uint32(steps))+1, 0)
		t = tail{hi: t.hi + carry, lo: lo}
		room = append(room, t)
	}
	return room, t.hi < 1<<40
}
