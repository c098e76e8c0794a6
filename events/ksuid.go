package events

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/segmentio/ksuid"
)

var (
	// ErrKSUID is the error for a text that is not the canonical form of a KSUID.
	ErrKSUID = errors.New("not a KSUID")
	// ErrTime is the error for an instant outside the range of KSUIDs: before 2014-05-13T16:53:20Z, or at or after
	// 2150-06-19T23:21:36Z.
	ErrTime = errors.New("time is outside the range of KSUIDs")
)

// KSUID identifies a posting and is its position in an account's history. It is a text of 27 characters. Within one
// process, KSUIDs sort in the order in which they were minted; across processes, only as exactly as the clocks agree.
// Its 20 bytes are the seconds since KSUID's epoch (4), the microseconds of that second (3) and a random tail (13). The
// empty KSUID sorts before all others.
type KSUID string

// The range of instants: KSUID counts whole seconds from its epoch in 32 bits.
const (
	epochSecond = 1_400_000_000
	lastSecond  = epochSecond + math.MaxUint32
)

// Epoch is the instant at which the time of KSUIDs begins: 2014-05-13T16:53:20Z.
func Epoch() time.Time { return time.Unix(epochSecond, 0).UTC() }

// hasKSUID reports whether t is in the range of KSUIDs.
func hasKSUID(t time.Time) bool { return t.Unix() >= epochSecond && t.Unix() <= lastSecond }

const (
	ksuidChars    = 27
	greatestKSUID = "aWgEPTl1tmebfsQzFP4bxwgy80V" // 2^160 − 1 in base 62
	maxMicros     = 999_999
)

// ParseKSUID accepts exactly the 27-character base 62 form whose 20 bytes encode back to the same text. Error:
// ErrKSUID.
func ParseKSUID(s string) (KSUID, error) {
	// Base 62 has a fixed width here and an alphabet in ASCII order. So every text up to the greatest one is canonical.
	if len(s) != ksuidChars || s > greatestKSUID {
		return "", ErrKSUID
	}
	for i := range len(s) {
		if !isAlphanumeric(s[i]) {
			return "", ErrKSUID
		}
	}
	return KSUID(s), nil
}

// Time returns the instant of k, in UTC and whole microseconds. It returns the zero time if k is empty or ParseKSUID
// rejects it. Microsecond bytes above 999,999, which other implementations may produce, count as 999,999.
func (k KSUID) Time() time.Time {
	if _, err := ParseKSUID(string(k)); err != nil {
		return time.Time{}
	}
	id, err := ksuid.Parse(string(k))
	if err != nil {
		return time.Time{}
	}
	micros := int64(id[4])<<16 | int64(id[5])<<8 | int64(id[6])
	return time.Unix(epochSecond+int64(id.Timestamp()), min(micros, maxMicros)*1000).UTC()
}

// FirstKSUID returns the least KSUID of the instant t (cut to microseconds), for range queries: KSUIDs minted at or
// after t are not less, and those minted before t are less. For times before KSUID's epoch (2014-05-13T16:53:20Z) it
// returns the least KSUID, for times after its end the greatest.
func FirstKSUID(t time.Time) KSUID {
	switch {
	case t.Unix() < epochSecond:
		return KSUID(ksuid.Nil.String())
	case t.Unix() > lastSecond:
		return greatestKSUID
	}
	return KSUID(appendKSUID(nil, t.UnixMicro(), tail{}))
}

// LastKSUIDBefore returns the greatest KSUID before the instant t (cut to microseconds): KSUIDs minted at or after t
// are greater, and those minted before t are not. For times up to KSUID's epoch it returns the least KSUID, which is
// never minted.
func LastKSUIDBefore(t time.Time) KSUID {
	first, err := ksuid.Parse(string(FirstKSUID(t)))
	if err != nil || first.IsNil() {
		return KSUID(ksuid.Nil.String())
	}
	return KSUID(first.Prev().String())
}

// appendKSUID appends the KSUID of an instant in microseconds since 1970, which must be within KSUID's range.
func appendKSUID(text []byte, instant int64, t tail) []byte {
	second, micros := instant/1e6-epochSecond, instant%1e6
	var id ksuid.KSUID
	binary.BigEndian.PutUint64(id[4:], uint64(micros)<<40|t.hi)
	binary.BigEndian.PutUint64(id[12:], t.lo)
	binary.BigEndian.PutUint32(id[:], uint32(second))
	return id.Append(text)
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
