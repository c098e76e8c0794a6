package units

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"ledger.example/client"
)

// Portion parses what one account gets of a split, as people write it: the account, "=", and then a share, a quantity,
// both with a "+" between, or "rest", which may have a weight, as in "rest:2". Examples are "fees=2.9%+0.30",
// "tax=19/119" and "shop=rest". what names the argument or field, for errors. Errors: AmountError, wrapped, if text is
// no portion; those of Parse. The API checks ids and shares.
func (u *Units) Portion(ctx context.Context, what, asset, text string) (p client.Portion, err error) {
	account, parts, ok := strings.Cut(text, "=")
	if !ok {
		return p, fmt.Errorf("%s: %w", what,
			amountError("%q is not an account and what it gets, such as shop=rest", text))
	}
	p.Account = strings.TrimSpace(account)
	for part := range strings.SplitSeq(parts, "+") {
		part = strings.TrimSpace(part)
		rest, isRest := strings.CutPrefix(part, "rest")
		switch {
		case isRest && p.Rest == 0:
			weight, hasWeight := strings.CutPrefix(rest, ":")
			n, err := strconv.Atoi(weight)
			switch {
			case rest == "":
				n = 1
			case !hasWeight || err != nil || n < 1:
				return p, fmt.Errorf("%s: %w", what, amountError("%q is not a rest with a weight such as rest:2", part))
			}
			p.Rest = client.Weight(n)
		case strings.ContainsAny(part, "%/") && p.Share == "":
			p.Share = client.Share(part)
		case !isRest && !strings.ContainsAny(part, "%/") && p.Quantity == nil:
			quantity, err := u.Parse(ctx, what, asset, part)
			if err != nil {
				return p, err
			}
			p.Quantity = &quantity
		default:
			return p, fmt.Errorf("%s: %w", what, amountError("%q has two shares, two quantities or two rests", text))
		}
	}
	return p, nil
}
