package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/pacetest"
)

// rows of the smallest terminal that help is for, without that of the shell's next prompt.
const helpRows = 23

// Every command, flag and topic has help, and all of it fits into 80 columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	root := (&program{getenv: os.Getenv}).root()
	fits := func(name, text string) {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s has a line of %d columns: %s", name, n, line)
			}
		}
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		text := wrapped(helpOf(cmd))
		fits(cmd.CommandPath(), text)
		rows := strings.Count(text, "\n")
		if most := map[bool]int{true: 36, false: helpRows + 3}[cmd.HasSubCommands() && cmd != root]; rows > most || cmd == root && rows > helpRows {
			t.Errorf("%s --help has %d lines, want at most %d", cmd.CommandPath(), rows, most)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || len(cmd.Short) > 70 {
			t.Errorf("%s is described as %q: want a few words without a full stop", cmd.CommandPath(), cmd.Short)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no help", cmd.CommandPath(), f.Name)
			}
		})
		for _, c := range cmd.Commands() {
			check(c)
		}
	}
	check(root)
	first := wrapped(helpOf(root))
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && !strings.Contains(first, c.Name()) {
			t.Errorf("burin help does not name %s", c.Name())
		}
	}
	for _, topic := range topics() {
		text, ok := page(root, topic)
		if !ok || !strings.HasPrefix(text, topic+": ") || !strings.Contains(first, topic) {
			t.Errorf("topic %s: its page begins %.40q, and burin help names it: %v", topic, text, strings.Contains(first, topic))
		}
		fits("topic "+topic, wrapped(text))
	}
	files, err := filepath.Glob("help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if want := len(topics()); len(files) != want { // the first page, and all topics but flags
		t.Errorf("%d pages of help for %d topics", len(files), want)
	}
}

// What help shows as a command line is one: its commands and flags exist.
func TestHelpIsTrue(t *testing.T) {
	t.Parallel()
	root := (&program{getenv: os.Getenv}).root()
	for _, topic := range append(topics(), "root") {
		text, ok := page(root, topic)
		if !ok {
			text = helpOf(root)
		}
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \n,;:()'\".", r) }) {
			name, long := strings.CutPrefix(word, "--")
			if !long || name == "help" || name == "" {
				continue
			}
			known := root.Flags().Lookup(name) != nil
			for _, c := range root.Commands() {
				known = known || c.Flags().Lookup(name) != nil
			}
			if !known {
				t.Errorf("topic %s names --%s, which no command has", topic, name)
			}
		}
		for line := range strings.Lines(text) {
			words := strings.Fields(strings.TrimSpace(line))
			if !strings.HasPrefix(line, "  burin ") || len(words) < 2 || strings.HasPrefix(words[1], "-") || strings.HasPrefix(words[1], `"`) || strings.HasPrefix(strings.TrimLeft(line, " ")[len("burin"):], "   ") {
				continue
			}
			if found, _, err := root.Find(words[1:2]); err != nil || found == root {
				t.Errorf("topic %s: %q: there is no such command", topic, strings.TrimSpace(line))
			}
		}
	}
}

// The man pages are those of the help, and man takes them without a complaint.
func TestManPages(t *testing.T) {
	t.Parallel()
	pages := manPages((&program{getenv: os.Getenv}).root())
	for _, name := range []string{"burin.1", "burin-keys-add.1", "burin-help-config.7"} {
		if !strings.HasPrefix(pages[name], ".TH BURIN") {
			t.Errorf("%s begins %.40q", name, pages[name])
		}
	}
	if !strings.Contains(pages["burin.1"], `\-\-base\-url VALUE`) {
		t.Error("burin.1 does not list the flags")
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff to read them with")
	}
	for name, text := range pages {
		if pacetest.Cases(name != "burin.1", false) { // groff takes a moment for each
			continue
		}
		cmd := exec.Command(groff, "-man", "-Tutf8", "-ww", "-b", "-z", "-K", "utf8")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}

// Homebrew installs each man page by its name.
func TestManPagesOfHomebrew(t *testing.T) {
	t.Parallel()
	release, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var listed, want []string
	for line := range strings.Lines(string(release)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- man/"); ok {
			listed = append(listed, name)
		}
	}
	for name := range manPages((&program{getenv: os.Getenv}).root()) {
		want = append(want, name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("manpages in .goreleaser.yaml (-want +listed):\n%s", diff)
	}
}
