package events

import "fmt"

// The stored names of the fields in StoredPosting that are not in a posting's keys.
const (
	FigureQuantity    = "Quantity"
	FigureCost        = "Cost"
	FigureTransaction = "Transaction"
	FigureKind        = "Kind"
	FigurePending     = "Pending"
	FigurePhase       = "Phase"
	FigureDescription = "Description"
	FigureBackdated   = "Backdated"
)

// StoredPosting has the fields of a stored PostingRecorded that DecodeFigures reads. An absent text or number is "".
type StoredPosting struct {
	Name     string
	Version  int
	Checksum string

	Account, Asset, ID             string // as the posting's keys have them
	Quantity, Cost, Pending        Number // Pending is absent, as Phase is, from all but the postings of holds
	Transaction, Kind, Description string
	Phase                          string
	Backdated                      bool
}

// DecodeFigures reads the figures of a PostingRecorded as strictly as Decode. It allocates nothing: a fold goes through
// a million postings. Errors: those of Decode.
func DecodeFigures(s StoredPosting) (Figures, error) {
	p := PostingRecorded{
		Leg:         Leg{ID: KSUID(s.ID), Account: s.Account, Asset: s.Asset},
		Transaction: s.Transaction, Kind: Kind(s.Kind), Description: s.Description, Phase: Phase(s.Phase),
		Backdated: s.Backdated,
	}
	if s.Name != postingRecorded { // the ledger never writes another name under such a key
		return Figures{}, fmt.Errorf("%w: %q, version %d, where a posting should be", ErrUnknownEvent,
			s.Name, s.Version)
	}
	if err := checkVersion(s.Name, s.Version); err != nil {
		return Figures{}, err
	}
	var err error
	if p.Quantity, err = figure(FigureQuantity, s.Quantity); err != nil {
		return Figures{}, err
	}
	if p.Cost, err = figure(FigureCost, s.Cost); err != nil {
		return Figures{}, err
	}
	if s.Phase != "" || s.Pending != "" {
		if p.Pending, err = figure(FigurePending, s.Pending); err != nil {
			return Figures{}, err
		}
	}
	known := p.Phase == "" || p.Phase == PhasePlaced || p.Phase.Ends()
	if !known || !p.Figures().valid() {
		return Figures{}, fmt.Errorf("%w: %s: %s %s", ErrMalformedEvent, postingRecorded, FigurePhase, ruleSign)
	}
	form := newCanonical(s.Name)
	defer form.free()
	p.write(form)
	if err := form.compare(s.Name, s.Checksum); err != nil {
		return Figures{}, err
	}
	return p.Figures(), nil
}

func figure(name string, stored Number) (Amount, error) {
	a, err := ParseAmount(string(stored), PostedDigits)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: %s: %s: %w", ErrMalformedEvent, postingRecorded, name, err)
	}
	return a, nil
}
