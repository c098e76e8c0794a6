package events

import "time"

const assetRegistered = "AssetRegistered"

// AssetRegistered: an asset was registered. Assets are immutable.
type AssetRegistered struct {
	ID          string    // see ValidID; set by the caller
	Name        string    // 1 to NameChars characters
	Description string    // 0 to DescriptionChars characters
	Scale       int       // decimal places, 0 to ScaleMax
	Currency    string    // id of the asset of costs; without one, costs must be zero
	Actor       string    // who registered it, 1 to ActorChars characters
	At          time.Time // UTC, whole microseconds; set by the command
}

// EventName implements Event.
func (AssetRegistered) EventName() string { return assetRegistered }

func (e AssetRegistered) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *AssetRegistered) fields(c *coder) {
	text(c, "Actor", &e.Actor, actor)
	c.time("At", &e.At)
	text(c, "Currency", &e.Currency, optionalID)
	text(c, "Description", &e.Description, description)
	text(c, "ID", &e.ID, requiredID)
	text(c, "Name", &e.Name, assetName)
	integer(c, "Scale", &e.Scale, 0, ScaleMax)
}

var assetName = requiredText(NameChars)
