package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wrongFlag says what is wrong with a flag in words that are no programmer's.
func wrongFlag(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = name[1:]
		}
		where := cmd.CommandPath() + " --help"
		if !cmd.HasParent() {
			where = "burin help flags"
		}
		return usage("unknown flag %s for %s; see %s", name, cmd.CommandPath(), where)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usage("--%s needs a value", missing.GetFlag().Name)
	}
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return usageError{Err: err}
	}
	name, value := bad.GetFlag().Name, bad.GetValue()
	wanted := map[string]string{"int": "whole number", "float64": "number", "bool": "true or false"}[bad.GetFlag().Value.Type()]
	switch {
	case errors.Is(err, strconv.ErrRange):
		return usage("--%s: %s is too large", name, value)
	case wanted != "":
		return usage("--%s: %q is not a %s", name, value, wanted)
	}
	return usage("--%s: %q: %w", name, value, bad.Unwrap())
}
