package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/client"
)

// operation returns the command of an operation. Its arguments, which use names, are the ids of the path, and its flags
// the fields with the tag flag. print prints the answer.
func operation[In, Out any](
	env *environment, o client.Op[In, Out], use string,
	print func(ctx context.Context, answer client.Reply[Out]) error,
) *cobra.Command {
	cmd := &cobra.Command{Use: use}
	in := new(In)
	v := reflect.ValueOf(in).Elem()
	var ids []reflect.Value
	for _, f := range client.FieldsOf(v.Type()) {
		switch into := v.FieldByIndex(f.Index); {
		case f.Path != "":
			ids = append(ids, into)
		case f.Tag.Get("flag") != "":
			fieldFlag(cmd.Flags(), f, into.Addr().Interface())
			if f.IsRequired() {
				_ = cmd.MarkFlagRequired(f.JSON) // it is defined above
			}
		}
	}
	if o.Method == http.MethodPut {
		env.absentFlag(cmd)
	}
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		for i, id := range ids {
			id.SetString(args[i])
		}
		answer, err := o.Call(ctx, env.api, *in)
		if err != nil {
			return err
		}
		return print(ctx, answer)
	})
}

// fieldFlag adds the flag of a field.
func fieldFlag(flags *pflag.FlagSet, f client.Field, target any) {
	usage := f.Tag.Get("flag")
	switch target := target.(type) {
	case *string:
		if f.Is() == "ID" {
			idFlag(flags, target, f.JSON, usage)
		} else {
			flags.StringVar(target, f.JSON, "", usage)
		}
	case *int:
		bound := func(tag string, otherwise int) int {
			if n, err := strconv.Atoi(f.Tag.Get(tag)); err == nil {
				return n
			}
			return otherwise
		}
		numberFlag(flags, target, f.JSON, 0, bound("least", math.MinInt), bound("most", math.MaxInt), usage)
	default:
		panic(fmt.Sprintf("no flag can set a field of type %s", f.Type))
	}
}

// labelsOf returns the fields of a type that are printed, with their labels.
func labelsOf(t reflect.Type, isItem bool) (fields []client.Field, labels []string) {
	for _, f := range client.FieldsOf(t) {
		if label := f.Label(); label != "-" && (f.IsListed() || !isItem) {
			fields, labels = append(fields, f), append(labels, label)
		}
	}
	return fields, labels
}

// printFields prints the fields of an answer as a list.
func printFields[T any](env *environment) func(context.Context, client.Reply[T]) error {
	return func(ctx context.Context, r client.Reply[T]) error {
		return env.print(ctx, r.Raw, nil, func() error {
			t := env.newList()
			fields, labels := labelsOf(reflect.TypeFor[T](), false)
			for i, f := range fields {
				value := reflect.ValueOf(r.Value).FieldByIndex(f.Index)
				if value.Kind() != reflect.Pointer || !value.IsNil() {
					t.row(labels[i], cell(f, value))
				}
			}
			return t.flush()
		})
	}
}

// printItems returns a function that prints a page of a list as a table.
func printItems[T any](env *environment) func(items []T, heading bool) error {
	return func(items []T, heading bool) error {
		fields, labels := labelsOf(reflect.TypeFor[T](), true)
		columns := make([]column, len(fields))
		for i, f := range fields {
			switch heading := strings.ToUpper(labels[i]); {
			case f.Is() == "Time":
				columns[i] = times(heading)
			case f.Type.Kind() == reflect.Int:
				columns[i] = numbers(heading)
			default:
				columns[i] = words(heading)
			}
		}
		t := env.newPage(heading, columns...)
		for _, item := range items {
			cells := make([]string, len(fields))
			for i, f := range fields {
				cells[i] = cell(f, reflect.ValueOf(item).FieldByIndex(f.Index))
			}
			t.row(cells...)
		}
		return t.flush()
	}
}

// cell returns the text of a field. One that is not set, and may be missing, is "-", or as its tag none says.
func cell(f client.Field, v reflect.Value) string {
	if text, ok := v.Interface().(*string); ok {
		return orNone(text)
	}
	if none := f.Tag.Get("none"); v.IsZero() && (none != "" || f.Optional) {
		return cmp.Or(none, absent)
	}
	return fmt.Sprint(v)
}

// parent returns a command that only has subcommands.
func parent(use string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Args: noSubcommand}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// noSubcommand refuses the arguments of a command that only has subcommands: the first is none of these.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = cmp.Or(cmd.SuggestionsMinimumDistance, suggestionDistance)
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		err = fmt.Errorf("%w\n\nDid you mean this?\n\t%s", err, strings.Join(like, "\n\t"))
	}
	return err
}

// suggestionDistance is how many letters may differ between a word and the command that is suggested, as in cobra.
const suggestionDistance = 2

// list is a command that prints a list of the API.
type list[T any] struct {
	use, items string
	of         func(args []string) client.Listing[T] // called when the command runs
	assets     func([]T) []string                    // nil for a list without amounts
	print      func(items []T, heading bool) error   // prints one page
}

// command returns the command with its flags.
func (l list[T]) command(env *environment) *cobra.Command {
	cmd := &cobra.Command{Use: l.use}
	env.limitFlags(cmd, l.items)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		return printPages(ctx, env, l.of(args), l.assets, l.print)
	})
}

// listByPrefix returns the `list` command for entities, such as accounts, whose ids begin with --prefix.
func listByPrefix[T any](
	env *environment, items string, of func(*client.Client, string) client.Listing[T],
	print func(items []T, heading bool) error,
) *cobra.Command {
	var prefix string
	cmd := list[T]{use: "list", items: items, print: print, of: func([]string) client.Listing[T] {
		return of(env.api, prefix)
	}}.command(env)
	cmd.Args = cobra.NoArgs
	cmd.Flags().StringVar(&prefix, "prefix", "", fmt.Sprintf("only %s whose ids begin with this", items))
	return cmd
}

// printPages prints a list page by page, until its end or until it has printed env.limit items. It loads the scales of
// the assets that assets returns, if there are any, before it calls show.
func printPages[T any](
	ctx context.Context, env *environment, list pager[T], assets func([]T) []string,
	show func(items []T, heading bool) error,
) error {
	// A page may be short or even empty without being the last one. Only a missing cursor marks the end.
	limit := env.limit
	for cursor := ""; ; {
		r, err := list.Page(ctx, cursor, min(client.PageLimit, limit))
		if err != nil {
			return err
		}
		items := r.Value.Data
		var ids []string
		if assets != nil {
			ids = assets(items)
		}
		err = env.print(ctx, r.Raw, ids, func() error { return show(items, cursor == "") })
		if err != nil {
			return err
		}
		if err := env.out.Flush(); err != nil { // a closed pipe ends the list
			return err
		}
		if r.Value.NextCursor == nil {
			return nil
		}
		if limit -= len(items); limit <= 0 {
			fmt.Fprintln(env.err, "There are more. Use --all, or a larger --limit.")
			return nil
		}
		cursor = *r.Value.NextCursor
	}
}

// printList prints a list without amounts.
func printList[T any](ctx context.Context, env *environment, list client.Listing[T]) error {
	return printPages(ctx, env, list, nil, printItems[T](env))
}
