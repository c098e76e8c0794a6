package events

import "time"

// AssetRegistered: an asset was registered. Assets are immutable.
type AssetRegistered struct {
	ID          string    `stored:"id"`                   // see ValidID; set by the caller
	Name        string    `stored:"name"`                 // 1 to NameChars characters
	Description string    `stored:"description,optional"` // 0 to DescriptionChars characters
	Scale       int       `stored:"scale"`                // decimal places, 0 to ScaleMax
	Currency    string    `stored:"id,optional"`          // id of the asset of costs; without one, costs must be zero
	Actor       string    `stored:"actor,unlisted"`       // who registered it, 1 to ActorChars characters
	At          time.Time `stored:"time"`                 // UTC, whole microseconds; set by the command
}

// EventName implements Event.
func (AssetRegistered) EventName() string { return "AssetRegistered" }

func (AssetRegistered) check() (field, rule string) { return "", "" }
