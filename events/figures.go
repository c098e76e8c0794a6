package events

import "fmt"

// The stored fields of a PostingRecorded that a fold reads, and that DecodeFigures wants. A fold goes through a million
// postings and leaves the others in the store.
const (
	FigureQuantity = fieldQuantity
	FigureCost     = fieldCost
)

// DecodeFigures reads the figures of a PostingRecorded from its stored name, version and those two fields, as strictly
// as Decode. It allocates nothing. Errors: those of Decode.
func DecodeFigures(name string, version int, quantity, cost Number) (q, c Amount, err error) {
	if name != postingRecorded || version != 1 {
		return q, c, fmt.Errorf("%w: %q, version %d, where a posting should be", ErrUnknownEvent, name, version)
	}
	if q, err = ParseAmount(string(quantity), PostedDigits); err != nil {
		return Amount{}, Amount{}, fmt.Errorf("%w: %s: %s: %w", ErrMalformedEvent, postingRecorded, fieldQuantity, err)
	}
	if c, err = ParseAmount(string(cost), PostedDigits); err != nil {
		return Amount{}, Amount{}, fmt.Errorf("%w: %s: %s: %w", ErrMalformedEvent, postingRecorded, fieldCost, err)
	}
	return q, c, nil
}
