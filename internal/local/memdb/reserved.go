package memdb

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed reserved.txt
var reservedText string

// reservedWords need a placeholder in expressions, in upper and lower case (AWS, "Reserved words in DynamoDB").
var reservedWords = strings.Fields(reservedText)

func isReserved(name string) bool { return slices.Contains(reservedWords, strings.ToLower(name)) }
