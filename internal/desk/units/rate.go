package units

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ledger.example/client"
)

// pers are the stretches of time that a rate may have.
var pers = []string{"day", "week", "month"}

// Rate parses a limit over time as people write it: the asset, ":", the quantity, "/", and day, week or month, which
// "@" and a zone may follow. An example is "EUR:500.00/day@Europe/Berlin". what names the flag or field, for errors.
// Errors: AmountError, wrapped, if text is no rate; those of Parse. The API checks zones.
func (u *Units) Rate(ctx context.Context, what, text string) (r client.Rate, err error) {
	amount, per, ok := strings.Cut(text, "/")
	at := strings.LastIndex(amount, ":")
	per, zone, hasZone := strings.Cut(per, "@")
	switch {
	case !ok || at < 1:
		return r, fmt.Errorf("%s: %w", what, amountError(
			"%q is not an asset, a quantity and a time, such as EUR:500.00/day or EUR:500.00/day@Europe/Berlin", text))
	case hasZone && zone == "":
		return r, fmt.Errorf("%s: %w", what, amountError("%q has no zone behind @", text))
	case !slices.Contains(pers, per):
		return r, fmt.Errorf("%s: %w", what, amountError("%q is not day, week or month", per))
	}
	r.Asset, r.Per, r.Zone = strings.TrimSpace(amount[:at]), per, client.Zone(zone)
	r.Quantity, err = u.Parse(ctx, what, r.Asset, amount[at+1:])
	return r, err
}

// RateText formats a limit over time of a loaded asset for people: "500.00 EUR a day (Europe/Berlin)".
func (u *Units) RateText(r client.Rate) string {
	return fmt.Sprintf("%s %s a %s (%s)", u.Quantity(r.Asset, r.Quantity), r.Asset, r.Per, r.Zone)
}

// AssetsOf returns the assets of limits over time.
func AssetsOf(rates []client.Rate) (assets []string) {
	for _, r := range rates {
		assets = append(assets, r.Asset)
	}
	return assets
}
