package main

import (
	"fmt"
	"math"
	"strconv"
)

// shown is a number of dollars as money writes it.
func shown(usd float64) float64 {
	if usd >= 100 {
		return math.Round(usd)
	}
	return math.Round(100*usd) / 100
}

// money writes dollars: with cents below a hundred.
func money(usd float64) string {
	if usd >= 100 {
		return rounded(usd)
	}
	return cents(usd)
}

// rounded writes a number that is not negative without decimals, and with commas.
func rounded(f float64) string {
	text := fmt.Sprintf("%.0f", math.Round(f))
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// figure formats a number: without decimals from 100 on, with one decimal from 1 on, else with two.
func figure(f float64) string {
	switch {
	case f >= 100, math.Abs(f-math.Round(f)) < 1e-9:
		return rounded(f)
	case f >= 1:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return cents(f)
}

// cents writes a number with two decimals.
func cents(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
