package events

import (
	"fmt"
	"maps"
)

// DecodeListed decodes an AssetRegistered, AccountOpened or GroupRegistered from the part of its stored form that an
// index has. Actor and Profile are missing there, and stay empty. The checksum covers them, so it cannot be checked.
// Everything else is as strict as Decode. Errors: those of Decode except ErrChecksum.
func DecodeListed(name string, version int, f Fields) (Event, error) {
	if name != assetRegistered && name != accountOpened && name != groupRegistered {
		return nil, fmt.Errorf("%w: no list shows %q", ErrUnknownEvent, name)
	}
	whole := Fields{"Actor": "-"} // any actor
	maps.Copy(whole, f)
	e, err := decode(name, version, whole)
	if err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case AssetRegistered:
		e.Actor = ""
		return e, nil
	case AccountOpened:
		e.Actor, e.Profile = "", ""
		return e, nil
	case GroupRegistered:
		e.Actor = ""
		return e, nil
	}
	return e, nil
}
