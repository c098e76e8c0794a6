package events

import "errors"

// PostedDigits is the most digits that one posted amount may have, FoldedDigits the most that a sum of them may
// have. DynamoDB's number holds 38 digits; ten thousand million of the largest postings still add up below it.
const (
	PostedDigits = 28
	FoldedDigits = 38
)

var (
	// ErrAmount is returned for a text that is not a canonical whole number ("0|-?[1-9][0-9]*").
	ErrAmount = errors.New("not a whole number in canonical form")
	// ErrOverflow is returned when a result would have more than FoldedDigits digits.
	ErrOverflow = errors.New("amount overflows 38 digits")
)

// Amount is an exact signed whole number of an asset's smallest unit, of at most FoldedDigits digits. It is an
// immutable, comparable (==) value of 128 bits; its zero value is 0.
type Amount struct {
	hi int64
	lo uint64
}

// NewAmount returns the amount n.
func NewAmount(n int64) Amount { panic("todo") }

// ParseAmount reads a canonical whole number of at most maxDigits digits (PostedDigits or FoldedDigits).
// Errors: ErrAmount, ErrOverflow (canonical, but too many digits).
func ParseAmount(s string, maxDigits int) (Amount, error) { panic("todo") }

// Add returns a + b, or ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) { panic("todo") }

// Sub returns a − b, or ErrOverflow.
func (a Amount) Sub(b Amount) (Amount, error) { panic("todo") }

// Neg returns −a; it cannot overflow, as the range is symmetric.
func (a Amount) Neg() Amount { panic("todo") }

// Abs returns the magnitude of a.
func (a Amount) Abs() Amount { panic("todo") }

// Sign returns -1, 0 or 1.
func (a Amount) Sign() int { panic("todo") }

// IsZero tells whether a is 0.
func (a Amount) IsZero() bool { return a == Amount{} }

// Cmp returns -1, 0 or 1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { panic("todo") }

// MaxFolded returns the largest amount, of FoldedDigits nines.
func MaxFolded() Amount { panic("todo") }

// String returns the canonical decimal form.
func (a Amount) String() string { panic("todo") }

// MarshalText gives the canonical decimal form, so that JSON carries a string and never a number.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads a canonical decimal form of at most FoldedDigits digits.
func (a *Amount) UnmarshalText(b []byte) error { panic("todo") }
