package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/client"
	"ledger.example/events"
)

// Defaults that several commands share.
const (
	defaultTable       = "ledger"
	defaultDeadLetters = ".ledger/set-aside.jsonl" // the records that the projector cannot process
	portMax            = 65_535
	itemsShown         = 20 // of a list, as the API's own pages
)

// flagDescription is the one flag whose text may be empty.
const flagDescription = "description"

// usageError marks an error of wrong use that a command found while it ran.
type usageError struct{ error }

// Unwrap returns the error without its mark.
func (u usageError) Unwrap() error { return u.error }

// wrongUse returns an error that ends the command with the exit code of wrong use.
func wrongUse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// explainFlagError explains an amount below zero, which pflag takes for a flag.
func explainFlagError(_ *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if cluster := unknown.GetSpecifiedShortnames(); strings.TrimLeft(cluster, ".0123456789") != cluster {
			return fmt.Errorf("-%s is taken for a flag: an amount is above zero, without a sign; "+
				"to move it the other way, exchange the accounts", cluster)
		}
	}
	return err
}

// checked is a flag that is checked while the command line is read, so that what it refuses is wrong use. pflag prints
// the error of parse with the name of the flag.
type checked[T any] struct {
	target *T
	kind   string // of the value, for the help
	parse  func(text string) (T, error)
}

// String, Type and Set make it a pflag.Value.
func (c checked[T]) String() string { return fmt.Sprint(*c.target) }
func (c checked[T]) Type() string   { return c.kind }
func (c checked[T]) Set(text string) error {
	value, err := c.parse(text)
	if err == nil {
		*c.target = value
	}
	return err
}

// idFlag adds a flag for the id of an asset, an account or a transaction. It has no default: an empty id is refused.
func idFlag(f *pflag.FlagSet, target *string, name, usage string) {
	f.Var(checked[string]{target, "string", func(text string) (string, error) {
		return text, checkID(text)
	}}, name, usage)
}

// numberFlag adds a flag for a whole number between two bounds. math.MaxInt stands for no upper bound.
func numberFlag(f *pflag.FlagSet, target *int, name string, value, least, most int, usage string) {
	*target = value
	f.Var(checked[int]{target, "int", func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && least <= n && n <= most:
			return n, nil
		case most == math.MaxInt:
			return 0, fmt.Errorf("it must be a whole number of at least %d", least)
		}
		return 0, fmt.Errorf("it must be a whole number from %d to %d", least, most)
	}}, name, usage)
}

// limitFlags adds the flags that say how much of a list is printed.
func limitFlags(cmd *cobra.Command, limit *int, items string) {
	f := cmd.Flags()
	numberFlag(f, limit, "limit", itemsShown, 1, math.MaxInt, "greatest number of "+items)
	f.BoolFunc("all", "all "+items, func(text string) error {
		isAll, err := strconv.ParseBool(text)
		if isAll {
			*limit = math.MaxInt
		}
		return err
	})
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
}

// timeFormats are the texts that flags for times take: a time with its zone, or a day, which begins at midnight UTC.
func timeFormats() []string { return []string{time.RFC3339, time.DateOnly} }

// timeFlag adds a flag for a time in one of some formats, without a default in the help.
func timeFlag(f *pflag.FlagSet, target *time.Time, name string, formats []string, usage string) {
	f.Var(checked[time.Time]{target, "time", func(text string) (time.Time, error) {
		return parseTime(text, formats)
	}}, name, usage)
	f.Lookup(name).DefValue = ""
}

// parseTime reads a time in one of some formats. The error has an example of each.
func parseTime(text string, formats []string) (time.Time, error) {
	example := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	examples := make([]string, len(formats))
	for i, format := range formats {
		if at, err := time.Parse(format, strings.TrimSpace(text)); err == nil {
			return at, nil
		}
		examples[i] = example.Format(format)
	}
	return time.Time{}, errors.New("it must be like " + strings.Join(examples, " or "))
}

// portFlag adds the flag of commands that listen on a port.
func portFlag(f *pflag.FlagSet, target *int, value int) {
	numberFlag(f, target, "port", value, 0, portMax, "port to listen on; 0 takes any free one")
}

// endpointFlag adds the flag that says where DynamoDB is.
func endpointFlag(f *pflag.FlagSet, target *string, value, usage string) {
	*target = value
	f.Var(checked[string]{target, "string", func(text string) (string, error) {
		return text, checkEndpoint(text)
	}}, "dynamodb-endpoint", usage)
}

// tableFlag adds the flag that names the table.
func tableFlag(f *pflag.FlagSet, target *string) {
	f.StringVar(target, "table", defaultTable, "name of the table")
}

const flagIndexed = "indexed-metadata"

// indexedFlag adds the flag that names the indexed metadata keys.
func indexedFlag(f *pflag.FlagSet, target *string) {
	f.StringVar(target, flagIndexed, "order",
		"metadata keys to find transactions by: at most 5, with commas between them")
}

// noEmptyFlags refuses a flag with an empty text, as --id "$ORDER" has where ORDER is not set. It does not mean the
// same as no flag. A description may be empty.
func noEmptyFlags(flags *pflag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && f.Name != flagDescription {
			errs = append(errs, fmt.Errorf("--%s is given, and empty", f.Name))
		}
	})
	return errors.Join(errs...)
}

// named wants the arguments that the Use of a command names; those in brackets may be left out. All of them but a
// QUANTITY are ids.
func named(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:] // "balance ACCOUNT ASSET": the first is the command's own
	needed := slices.IndexFunc(names, func(name string) bool { return name[0] == '[' })
	if needed < 0 {
		needed = len(names)
	}
	if len(args) < needed || len(args) > len(names) {
		takes, given := strings.Join(names, " "), counted(int64(len(args)), "argument was", "arguments were")
		return fmt.Errorf("it takes %s, and %s given", cmp.Or(takes, "no arguments"), given)
	}
	for i, arg := range args {
		name := strings.Trim(names[i], "[]")
		if name == "QUANTITY" {
			continue
		}
		if err := checkID(arg); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkID returns an error unless a text can be the id of an asset, an account or a transaction.
func checkID(text string) error {
	if !events.ValidID(text) {
		return fmt.Errorf("%q is not an id: %w", text, client.ErrID)
	}
	return nil
}

// checkEndpoint returns an error unless a text is the URL of a server.
func checkEndpoint(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is not an http or https URL", text)
	}
	return nil
}
