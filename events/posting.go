package events

const postingRecorded = "PostingRecorded"

// PostingRecorded is one leg of a transaction as an item of its own, in its account's partition.
type PostingRecorded struct {
	Leg
	Transaction string // id of its header
	Kind        Kind   // that of its header
	Description string // that of its header
}

// EventName implements Event.
func (PostingRecorded) EventName() (string, int) { return postingRecorded, 1 }

func (e PostingRecorded) write(f Form) {
	e.Leg.write(f)
	f.Text(fieldTransaction, e.Transaction)
	f.Text(fieldKind, string(e.Kind))
	writeText(f, fieldDescription, e.Description)
}

// decodePostingRecorded is the hot path of every refold: no reflection, and nothing allocated but the event.
func decodePostingRecorded(f Fields) (PostingRecorded, error) {
	r := reader{stored: f}
	e := PostingRecorded{
		Leg:         r.leg(),
		Transaction: r.id(fieldTransaction),
		Kind:        r.kind(fieldKind),
		Description: r.optionalText(fieldDescription, DescriptionChars),
	}
	return e, r.finishEvent(postingRecorded)
}
