package units

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"ledger.example/events"
)

// Notation is how amounts are written: what separates groups of three digits, and what stands before the decimals.
// It reads what it prints. A group must have three digits, so that 3,00 is refused where a comma separates groups.
type Notation struct {
	// Name is an amount in this notation.
	Name string

	point  string
	groups []string // the separators that it reads, of which it prints the first; none: digits are not grouped
	number *regexp.Regexp
}

func notation(name, point string, groups ...string) Notation {
	grouped := ""
	for _, g := range groups { // the same separator throughout
		grouped += `|[0-9]{1,3}(?:` + regexp.QuoteMeta(g) + `[0-9]{3})+`
	}
	number := regexp.MustCompile(`^-?(?:[0-9]+` + grouped + `)(?:` + regexp.QuoteMeta(point) + `[0-9]+)?$`)
	return Notation{name, point, groups, number}
}

// Plain is the notation of programs: of the command line and of CSV.
var Plain = notation("1234.56", ".")

// forPeople has the notations of pages, the default first. Digits are separated by a space that does not break lines.
var forPeople = []Notation{
	notation("1,234.56", ".", ","),
	notation("1.234,56", ",", "."),
	notation("1 234,56", ",", "\u202f", "\u00a0", " "),
	notation("1'234.56", ".", "'", "’"),
}

// Notations returns the notations that a reader can choose, the default first.
func Notations() []Notation { return slices.Clone(forPeople) }

// Print writes a decimal number such as -1234.56 in this notation.
func (n Notation) Print(decimal string) string {
	digits, isNegative := strings.CutPrefix(decimal, "-")
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	if len(n.groups) > 0 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + n.groups[0] + whole[i:]
		}
	}
	if hasFraction {
		whole += n.point + fraction
	}
	if isNegative {
		return "-" + whole
	}
	return whole
}

// Read returns the decimal number that a text is in this notation, such as -1234.56.
func (n Notation) Read(text string) (decimal string, ok bool) {
	if len(n.groups) > 0 {
		text = strings.Replace(text, "−", "-", 1) // the sign of typesetters
	}
	if !n.number.MatchString(text) {
		return "", false
	}
	whole, fraction, hasFraction := strings.Cut(text, n.point)
	for _, g := range n.groups {
		whole = strings.ReplaceAll(whole, g, "")
	}
	if hasFraction {
		whole += "." + fraction
	}
	return whole, true
}

// Parse converts a number to minor units of the given scale. It never rounds: more decimal places than the scale are an
// error. Error: AmountError.
func (n Notation) Parse(text string, scale int) (events.Amount, error) {
	decimal, ok := n.Read(text)
	switch {
	case !ok && len(n.groups) == 0:
		return events.Amount{}, amountError("%q is not a decimal number such as 1500 or 12.50", text)
	case !ok:
		return events.Amount{}, amountError("%q is not an amount such as %s", text, n.Name)
	}
	return minorUnits(text, decimal, scale)
}

// symbols has the codes of the currencies that a sign stands for.
var symbols = map[string][]string{
	"$": {"USD", "AUD", "CAD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP", "BSD", "BBD", "BZD", "JMD"},
	"€": {"EUR"}, "£": {"GBP", "GIP", "FKP", "SHP", "EGP", "LBP"}, "¥": {"JPY", "CNY"}, "₹": {"INR"}, "₩": {"KRW"},
	"₪": {"ILS"}, "₽": {"RUB"}, "₺": {"TRY"}, "₴": {"UAH"}, "₫": {"VND"}, "₱": {"PHP"}, "฿": {"THB"}, "₿": {"BTC"},
}

// Figure is a number with the unit that is written beside it, "" for none: a sign of a currency or the id of an asset.
type Figure struct {
	Decimal string // such as -1234.56
	Unit    string
}

// Figure reads a number with or without a unit before or after it, such as $3.00 or 3.00 USD.
func (n Notation) Figure(text string) (f Figure, ok bool) {
	if f.Decimal, ok = n.Read(text); ok {
		return f, true
	}
	sign := ""
	if rest, isNegative := strings.CutPrefix(strings.Replace(text, "−", "-", 1), "-"); isNegative {
		sign, text = "-", rest
	}
	isOfNumber := func(r rune) bool { return r >= '0' && r <= '9' || r == '-' || r == '−' }
	first, last := strings.IndexFunc(text, isOfNumber), strings.LastIndexFunc(text, isOfNumber)
	if first < 0 {
		return f, false
	}
	before, after := strings.TrimFunc(text[:first], unicode.IsSpace), strings.TrimFunc(text[last+1:], unicode.IsSpace)
	f.Unit = before + after
	f.Decimal, ok = n.Read(sign + text[first:last+1])
	isHyphen := before != "" && before == text[:first] && text[first] == '-' && symbols[before] == nil // order-3
	return f, ok && (before == "" || after == "") && isUnit(f.Unit) && !isHyphen
}

// isUnit reports whether a text can be a unit: a sign of a currency, or letters.
func isUnit(text string) bool {
	if _, isSign := symbols[text]; isSign {
		return true
	}
	return events.ValidID(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// IsOf reports whether a figure can be an amount of an asset: it has no unit, or that of the asset.
func (f Figure) IsOf(asset string) bool {
	if f.Unit == "" || strings.EqualFold(f.Unit, asset) {
		return true
	}
	isOther := func(r rune) bool { return !unicode.IsLetter(r) }
	return slices.ContainsFunc(strings.FieldsFunc(asset, isOther), func(part string) bool {
		return slices.Contains(symbols[f.Unit], strings.ToUpper(part))
	})
}

// IsSign reports whether the unit is the sign of a currency.
func (f Figure) IsSign() bool { return symbols[f.Unit] != nil }
