package main

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/transcript/place"
)

// hidePasswords takes passwords out of the addresses of session databases on the command line,
// in place, and puts them into a variable: it is inherited by a burin that this one starts,
// and no command that a model runs has it. From here on no part of the program can show what
// it does not know. Words of a prompt are left alone.
func hidePasswords(args []string, setenv func(name, value string) error) error {
	password := ""
	hide := func(word string) (string, error) {
		n := place.Parse(word)
		if n.Password == "" {
			return word, nil
		}
		if password != "" && password != n.Password {
			return word, usage("two addresses have different passwords: put them into ~/.pgpass")
		}
		password = n.Password
		return n.String(), setenv(place.PasswordVariable, password)
	}
	aboutSessions := len(args) > 0 && slices.Contains([]string{"sessions", "attach", "logs", "stop"}, args[0])
	named := false // the word before names a session
	for i, word := range args {
		flag, value, joined := strings.Cut(word, "=")
		isFlag := flag == "--session" || flag == "--resume" || flag == "-r"
		short, isShort := strings.CutPrefix(word, "-r")
		var err error
		switch {
		case isFlag && joined:
			value, err = hide(value)
			args[i] = flag + "=" + value
		case isShort && place.Parse(short).Server():
			short, err = hide(short)
			args[i] = "-r" + short
		case named, aboutSessions:
			args[i], err = hide(word)
		}
		if err != nil {
			return err
		}
		named = isFlag && !joined
	}
	return nil
}
