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
	f := Figures{Phase: Phase(s.Phase), Backdated: s.Backdated}
	if s.Name != postingRecorded { // the ledger never writes another name under such a key
		return Figures{}, fmt.Errorf("%w: %q, version %d, where a posting should be", ErrUnknownEvent,
			s.Name, s.Version)
	}
	if err := checkVersion(s.Name, s.Version); err != nil {
		return Figures{}, err
	}
	var err error
	if f.Quantity, err = figure(FigureQuantity, s.Quantity); err != nil {
		return Figures{}, err
	}
	if f.Cost, err = figure(FigureCost, s.Cost); err != nil {
		return Figures{}, err
	}
	if s.Phase != "" {
		f.Hold = s.Transaction
		if f.Pending, err = figure(FigurePending, s.Pending); err != nil {
			return Figures{}, err
		}
	}
	known := f.Phase == "" && s.Pending == "" || f.Phase == PhasePlaced || f.Phase.Ends()
	if !known || !f.valid() {
		return Figures{}, fmt.Errorf("%w: %s: %s %s", ErrMalformedEvent, postingRecorded, FigurePhase, ruleSign)
	}
	var room [11]Field
	if err := compareChecksum(s.Name, s.fields(room[:0]), s.Checksum); err != nil {
		return Figures{}, err
	}
	return f, nil
}

func figure(name string, stored Number) (Amount, error) {
	a, err := ParseAmount(string(stored), PostedDigits)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: %s: %s: %w", ErrMalformedEvent, postingRecorded, name, err)
	}
	return a, nil
}

// fields appends the stored fields in their order.
func (s StoredPosting) fields(f Fields) Fields {
	backdated := ""
	if s.Backdated {
		backdated = storedTrue
	}
	for _, one := range [...]Field{
		{Name: "Account", Type: TextField, Text: s.Account},
		{Name: "Asset", Type: TextField, Text: s.Asset},
		{Name: FigureBackdated, Type: FlagField, Text: backdated},
		{Name: FigureCost, Type: NumberField, Text: string(s.Cost)},
		{Name: FigureDescription, Type: TextField, Text: s.Description},
		{Name: "ID", Type: TextField, Text: s.ID},
		{Name: FigureKind, Type: TextField, Text: s.Kind},
		{Name: FigurePending, Type: NumberField, Text: string(s.Pending)},
		{Name: FigurePhase, Type: TextField, Text: s.Phase},
		{Name: FigureQuantity, Type: NumberField, Text: string(s.Quantity)},
		{Name: FigureTransaction, Type: TextField, Text: s.Transaction},
	} {
		if one.Text != "" {
			f = append(f, one)
		}
	}
	return f
}
