package events

import "time"

const assetRegistered = "AssetRegistered"

// AssetRegistered: something that can be counted was named. Never changed.
type AssetRegistered struct {
	ID          string    // see ValidID; set by the caller
	Name        string    // 1 to NameChars characters
	Description string    // 0 to DescriptionChars characters
	Scale       int       // decimal places, 0 to ScaleMax
	Currency    string    // id of the asset that costs are counted in; "": costs must be zero
	Actor       string    // who registered it, 1 to ActorChars characters
	At          time.Time // UTC, whole microseconds; set by the command
}

// EventName implements Event.
func (AssetRegistered) EventName() (string, int) { return assetRegistered, 1 }

func (e AssetRegistered) write(f Form) {
	f.Text(fieldID, e.ID)
	f.Text(fieldName, e.Name)
	writeText(f, fieldDescription, e.Description)
	f.Number(fieldScale, NewAmount(int64(e.Scale)))
	writeText(f, fieldCurrency, e.Currency)
	f.Text(fieldActor, e.Actor)
	f.Text(fieldAt, FormatTime(e.At))
}

func decodeAssetRegistered(f Fields) (AssetRegistered, error) {
	r := reader{stored: f}
	e := AssetRegistered{
		ID:          r.id(fieldID),
		Name:        r.text(fieldName, NameChars),
		Description: r.optionalText(fieldDescription, DescriptionChars),
		Scale:       int(r.integer(fieldScale, 0, ScaleMax)),
		Currency:    r.optionalID(fieldCurrency),
		Actor:       r.text(fieldActor, ActorChars),
		At:          r.time(fieldAt),
	}
	return e, r.finishEvent(assetRegistered)
}
