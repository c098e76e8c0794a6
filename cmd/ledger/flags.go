package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	itemsShown         = 20 // of a list by default, as in a page of the API
)

// flagDescription is the one flag whose text may be empty.
const flagDescription = "description"

// usageError is a usage error that a command found while it ran.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// usageErrorf returns an error that ends the command with exit code 2.
func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// explainFlagError explains the error for a negative amount, which pflag parses as a flag. An unknown subcommand comes
// before its flags, which its parent does not have.
func explainFlagError(cmd *cobra.Command, err error) error {
	if unknown := noSubcommand(cmd, cmd.Flags().Args()); unknown != nil && cmd.HasSubCommands() {
		return unknown
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if cluster := unknown.GetSpecifiedShortnames(); strings.TrimLeft(cluster, ".0123456789") != cluster {
			return fmt.Errorf("-%s is read as a flag: an amount must be above zero; "+
				"to move it in the other direction, swap the accounts", cluster)
		}
	}
	return err
}

// checked is a flag whose value is validated while the command line is parsed, so that a bad value is a usage error.
// pflag prints the error of parse after the name of the flag.
type checked[T any] struct {
	target *T
	kind   string // of the value, for the help
	parse  func(text string) (T, error)
}

// String, Type and Set implement pflag.Value.
func (c checked[T]) String() string { return fmt.Sprint(*c.target) }
func (c checked[T]) Type() string   { return c.kind }
func (c checked[T]) Set(text string) error {
	value, err := c.parse(text)
	if err == nil {
		*c.target = value
	}
	return err
}

// textFlag adds a flag for a text that check accepts. The value before is its default.
func textFlag(f *pflag.FlagSet, target *string, name, usage string, check func(text string) error) {
	f.Var(checked[string]{target, "string", func(text string) (string, error) {
		return text, check(text)
	}}, name, usage)
}

// outputFlag adds a flag, also under its first letter, for a file to write. The target is "" for standard output, which
// is the default and "-".
func outputFlag(f *pflag.FlagSet, target *string, name string) {
	f.VarP(checked[string]{target, "file", func(text string) (string, error) {
		switch text {
		case "":
			return "", errors.New("must not be empty")
		case "-":
			return "", nil
		}
		return text, nil
	}}, name, name[:1], "file to write, instead of standard output")
}

// idFlag adds a flag for an id. An empty id is refused.
func idFlag(f *pflag.FlagSet, target *string, name, usage string) {
	textFlag(f, target, name, usage, checkID)
}

// choiceFlag adds a flag for one of several words, which the shell completes.
func choiceFlag(cmd *cobra.Command, target *string, name, value, usage string, choices ...string) {
	*target = value
	textFlag(cmd.Flags(), target, name, usage, func(text string) error {
		if !slices.Contains(choices, text) {
			return errors.New("must be one of " + strings.Join(choices, ", "))
		}
		return nil
	})
	// It fails only for an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// numberFlag adds a flag for a whole number from least to most. math.MaxInt means no upper bound.
func numberFlag(f *pflag.FlagSet, target *int, name string, value, least, most int, usage string) {
	*target = value
	f.Var(checked[int]{target, "int", func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && least <= n && n <= most:
			return n, nil
		case most == math.MaxInt:
			return 0, fmt.Errorf("must be a whole number of at least %d", least)
		}
		return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
	}}, name, usage)
}

// limitFlags adds --limit and --all, which bound how many items of a list are printed.
func (env *environment) limitFlags(cmd *cobra.Command, items string) {
	f := cmd.Flags()
	numberFlag(f, &env.limit, "limit", itemsShown, 1, math.MaxInt, "maximum number of "+items)
	f.BoolFunc("all", "print all "+items, func(text string) error {
		isAll, err := strconv.ParseBool(text)
		if isAll {
			env.limit = math.MaxInt
		}
		return err
	})
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
}

func portFlag(f *pflag.FlagSet, target *int, value int) {
	numberFlag(f, target, "port", value, 0, portMax, "port to listen on; 0 picks a free one")
}

func endpointFlag(f *pflag.FlagSet, target *string, value, usage string) {
	*target = value
	textFlag(f, target, "dynamodb-endpoint", usage, checkEndpoint)
}

func tableFlag(f *pflag.FlagSet, target *string) {
	*target = defaultTable
	textFlag(f, target, "table", "name of the table", checkTable)
}

func checkTable(text string) error {
	if !tableName.MatchString(text) {
		return errors.New("must be the name of a table: 3 to 255 of A-Z a-z 0-9 _ . -")
	}
	return nil
}

// tableName matches the names that DynamoDB accepts.
var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)

const flagIndexed = "indexed-metadata"

func indexedFlag(f *pflag.FlagSet, target *string) {
	f.StringVar(target, flagIndexed, "order,tier",
		"metadata keys that can be searched: at most 5, separated by commas")
}

// noEmptyFlags refuses flags with an empty text. --id "$ORDER" is empty when ORDER is not set, and must not mean the
// same as no --id. A description may be empty.
func noEmptyFlags(flags *pflag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && f.Name != flagDescription {
			errs = append(errs, fmt.Errorf("--%s must not be empty", f.Name))
		}
	})
	return errors.Join(errs...)
}

// argsOfUse checks the arguments against those in the Use of a command. Arguments in brackets are optional. All
// arguments except QUANTITY and COST are ids.
func argsOfUse(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:] // the first word is the command
	required := slices.IndexFunc(names, func(name string) bool { return name[0] == '[' })
	if required < 0 {
		required = len(names)
	}
	last := len(names) - 1
	mayRepeat := last >= 0 && strings.HasSuffix(names[last], "...")
	if len(args) < required || len(args) > len(names) && !mayRepeat {
		return fmt.Errorf("expected %s, but got %s", cmp.Or(strings.Join(names, " "), "no arguments"),
			counted(int64(len(args)), "argument", "arguments"))
	}
	for i, arg := range args {
		name := strings.Trim(names[min(i, last)], "[]")
		if name == "QUANTITY" || name == "COST" || strings.Contains(name, "=") {
			continue
		}
		ids := []string{arg}
		if of, isList := strings.CutSuffix(name, ",..."); isList {
			name, ids = of, strings.Split(arg, ",")
		}
		for _, id := range ids {
			if err := checkID(id); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// checkID returns an error unless a text is a valid id.
func checkID(text string) error {
	if !events.ValidID(text) {
		return fmt.Errorf("%q is not an id: %w", text, client.ErrID)
	}
	return nil
}

// checkEndpoint returns an error unless a text is an http or https URL.
func checkEndpoint(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is not an http or https URL", text)
	}
	return nil
}
