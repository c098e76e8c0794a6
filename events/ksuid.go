package events

import (
	"time"
)

// KSUID is the identity of a posting and its position in one account's history, as its 27 characters of text.
// Text order is byte order is minting order within one process; across processes it is only as ordered as their
// clocks. The first three bytes of its payload are the microseconds of its second. The empty KSUID sorts before all.
type KSUID string

// ParseKSUID accepts exactly the 27-character base 62 form whose 20 bytes encode back to the same text.
func ParseKSUID(s string) (KSUID, error) { panic("todo") }

// Time returns the instant, in UTC and whole microseconds, that k was minted for. Of an empty k, the zero time.
// Microsecond bytes above 999,999 (a KSUID minted by others) count as 999,999.
func (k KSUID) Time() time.Time { panic("todo") }

// FirstKSUID returns the least KSUID of the instant t (cut to microseconds), for range queries: every KSUID minted at or after t is
// >= it, every one minted before t is less. Times before KSUID's epoch (2014-05-13T16:53:20Z) give the least KSUID, times after its end the
// greatest.
func FirstKSUID(t time.Time) KSUID { panic("todo") }

// Minter mints KSUIDs that never go backwards within the process, whatever its clock does. It is safe for
// concurrent use.
type Minter struct{ _ int }

// NewMinter returns a minter on the given clock and source of randomness (nil: time.Now and crypto/rand).
func NewMinter(now func() time.Time, random func([]byte) error) *Minter { panic("todo") }

// Mint returns n KSUIDs of one instant, increasing, all greater than any minted before by m, and that instant.
// When the clock stands still or steps back, the instant is that of the newest minted. Errors: ErrTime; what random returned.
func (m *Minter) Mint(n int) ([]KSUID, time.Time, error) { panic("todo") }
